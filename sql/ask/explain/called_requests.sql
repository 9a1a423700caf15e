-- description: How many requests have the key `key`
-- grain: one row
-- reads: requests
SELECT count(*) AS requests FROM requests WHERE request_key = $key
