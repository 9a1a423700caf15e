-- description: Percentiles of attempts: of values that were held, or of counts of them (docs/semantics.md#percentiles)
-- grain: window_s, start_s, replica, pool, model, quarter
-- reads: counted_attempt_quantiles, exact_attempt_quantiles
-- kind: view
SELECT * FROM exact_attempt_quantiles UNION ALL BY NAME SELECT * FROM counted_attempt_quantiles
