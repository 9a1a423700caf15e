-- description: Percentiles of attempts: of values that were held, or of counts of them (docs/semantics.md#percentiles)
-- grain: window_s, start_s, replica, pool, model, quarter, metric
-- reads: counted_attempt_quantiles, exact_attempt_quantiles
-- kind: view
FROM exact_attempt_quantiles UNION ALL BY NAME FROM counted_attempt_quantiles
