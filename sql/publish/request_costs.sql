-- description: What was spent on each request itself: all its attempts, and cost records that name it
-- grain: request_key
-- reads: cost_ledger
SELECT request_key, sum(usd::DECIMAL(38, 18))::DOUBLE AS cost_usd
FROM cost_ledger
WHERE request_key IS NOT NULL AND usd IS NOT NULL
GROUP BY request_key
