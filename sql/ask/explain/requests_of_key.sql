-- description: The request with the key `key`
-- grain: request_key
-- reads: requests
SELECT request_key FROM requests WHERE request_key = $key
