-- description: Files of costs that hold, once decompressed, the bytes of another one, as which their lines count (docs/semantics.md#sources)
-- grain: source_id
-- reads: cost_lines, source_files
-- Equal lines of one bill are all charged, so nothing but its bytes tells the copy of a part from another part. Lines of a source of
-- the settings are identified by themselves, and its paths may give columns.
WITH held AS (
    SELECT DISTINCT source_id, reader, content_hash, ingested_ns
    FROM source_files
    SEMI JOIN (SELECT source_id, dialect FROM cost_lines) AS l
        ON l.source_id = source_files.source_id AND l.dialect <> source_files.reader
)
SELECT
    source_id,
    -- the last that was read: settings that read a file otherwise read again what is still there
    first_value(source_id) OVER (PARTITION BY reader, content_hash ORDER BY ingested_ns DESC, source_id DESC) AS counts_as
FROM held
QUALIFY counts_as <> source_id
