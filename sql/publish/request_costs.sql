-- description: What all attempts of each request cost, overhead included
-- grain: request_key
-- reads: cost_ledger
SELECT request_key, sum(usd::DECIMAL(38, 18))::DOUBLE AS cost_usd
FROM cost_ledger
WHERE request_key IS NOT NULL AND usd IS NOT NULL
GROUP BY request_key
