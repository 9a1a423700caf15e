-- description: Label records that judge whole sessions
-- grain: record_id, source_id
-- reads: label_records
SELECT * FROM label_records WHERE subject_kind = 'session'
