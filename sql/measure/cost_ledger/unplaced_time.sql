-- description: Time of attempts that nobody saw on a replica
-- grain: pool, step_s
-- reads: charged_pieces
-- unit: seconds; unpriced_s: of those without a price, as what has one of its own ran elsewhere
SELECT
    pool, step_s, sum(seconds::DECIMAL(38, 12)) AS seconds,
    sum(CASE WHEN usd IS NULL THEN seconds ELSE 0 END::DECIMAL(38, 12)) AS unpriced_s
FROM charged_pieces
WHERE replica IS NULL
GROUP BY pool, step_s
