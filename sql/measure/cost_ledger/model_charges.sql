-- description: What bills of models that are bought by the token were spent on
-- grain: model, step_s, bucket
-- reads: charged_pieces
SELECT model, step_s, bucket, sum(usd::DECIMAL(38, 18)) AS usd
FROM charged_pieces
WHERE gpu_s IS NULL AND basis IN ('billing', 'allocation', 'rate_card')
GROUP BY ALL
