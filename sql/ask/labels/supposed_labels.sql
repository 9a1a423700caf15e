-- description: Labels that are there and those that would be, in the shape of `label_cells`, so that the estimator measures them
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route, part_s
-- reads: slices, supposed_cells
-- unit: window_s: the number of the trial; passed: what is to be labelled passes at the expected rate
SELECT
    s.slice, s.cut, trial AS window_s, start_s, NULL::VARCHAR AS slice_value, workload, model, pool, route, part_s,
    need, taken AS labelled,
    passed + (taken - c.labelled) * sure_rate AS passed,
    c.labelled AS labelled_now,
    0::BIGINT AS partly_judged, 0::BIGINT AS known_failed, 0.0::DOUBLE AS known_failed_tokens,
    0.0::DOUBLE AS need_tokens, 0.0::DOUBLE AS labelled_tokens, 0.0::DOUBLE AS passed_tokens,
    0.0::DOUBLE AS need_squares, 0.0::DOUBLE AS labelled_squares, 0.0::DOUBLE AS passed_squares
FROM supposed_cells AS c
JOIN slices AS s USING (slice)
WHERE need > 0
