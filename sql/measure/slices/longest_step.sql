-- description: The longest step that divides all windows that are measured now
-- grain: one row
-- reads: grains
-- kind: view
SELECT list_reduce(list(window_s), lambda a, b: gcd(a, b)) AS step_s FROM grains
