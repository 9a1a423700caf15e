-- description: What was spent on each request itself: all its attempts, and cost records that name it
-- grain: request_key
-- reads: cost_ledger
-- Rows of no request and without a price are left in: a query of `requests` that asks for no cost is then spared this
-- relation, which DuckDB does for a bare GROUP BY alone.
SELECT request_key, sum(usd::DECIMAL(38, 18))::DOUBLE AS cost_usd
FROM cost_ledger
GROUP BY request_key
