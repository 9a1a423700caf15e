-- description: The partitions with a row of one of the ids of variable wanted_ids, and perhaps others
-- grain: one row
-- reads: id_hours
SELECT list(strftime(make_timestamp(epoch_hour * 3600000000), '%Y-%m-%dT%H')) AS hours
FROM id_hours
WHERE list_contains(list_transform(getvariable('wanted_ids')::VARCHAR[], lambda id: id_hash(id)), id_hash)
