-- description: Requests with the keys `keys`
-- grain: request_key
-- reads: requests
SELECT * FROM requests WHERE list_contains($keys, request_key) ORDER BY arrived_at, request_key
