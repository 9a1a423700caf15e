-- description: How many requests ended in each step by the value that they count as in each slice by tenant or attribute
-- grain: step_start_s, cut, slice_value
-- reads: longest_step, measured_range, slice_cuts, slice_values
SELECT ended_s // step_s * step_s AS step_start_s, k.cut, v.cut_values[k.cut] AS slice_value, count(*) AS requests
FROM slice_values AS v
CROSS JOIN slice_cuts AS k
CROSS JOIN longest_step
CROSS JOIN measured_range
WHERE ended_s >= from_s AND ended_s < until_s
GROUP BY ALL
