-- description: The attempts of request `key`, in order
-- grain: attempt_index
-- reads: attempts
SELECT * FROM attempts WHERE request_key = $key ORDER BY attempt_index
