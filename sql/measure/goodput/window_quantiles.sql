-- description: Percentiles of each window by the dimensions in `quantile_slice`: of values that were held, or of counts of them (docs/semantics.md#percentiles)
-- grain: cut, quantile_by_workload, quantile_by_model, quantile_by_pool, quantile_by_route, window_s, start_s, k_workload, k_model, k_pool, k_route, k_value
-- reads: counted_quantiles, exact_quantiles
-- kind: view
SELECT * FROM exact_quantiles UNION ALL BY NAME SELECT * FROM counted_quantiles
