-- description: Each compared request in the whole of its side, and in its slice of prompt and of answer length: one design serves both
-- grain: request, dimension
-- reads: compared_requests
-- unit: dimension 'all': the whole; place: of a slice among those of its dimension, shortest first
WITH sized AS (
    SELECT * EXCLUDE (input_tokens, output_tokens), 'input_tokens' AS dimension, input_tokens AS tokens FROM compared_requests
    UNION ALL
    SELECT * EXCLUDE (input_tokens, output_tokens), 'output_tokens', output_tokens FROM compared_requests
),
bounds AS (
    SELECT dimension, list_distinct(quantile_disc(tokens, [0.25, 0.5, 0.75, 0.95])) AS bounds FROM sized GROUP BY dimension
)
SELECT
    side, workload, cell, request_key, session_id, start_s, is_accepted, needs_label, passed, cost_usd,
    'all' AS dimension, 0 AS place, NULL AS tokens
FROM compared_requests
UNION ALL
SELECT
    side, workload, cell, request_key, session_id, start_s, is_accepted, needs_label, passed, cost_usd,
    dimension, len(list_filter(bounds, lambda bound: bound < tokens)), tokens
FROM sized
JOIN bounds USING (dimension)
WHERE tokens IS NOT NULL
