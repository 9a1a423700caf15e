-- description: Requests that need a label and those that have one, by all that is recorded of where and when they were served
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route, part_s
-- reads: grains, label_requests
-- unit: part_s: when a part of the window begins, of at most 24 parts and at least five minutes each
SELECT
    window_s,
    ended_s // window_s * window_s AS start_s,
    cut, slice_value, workload, model, pool, route,
    window_part(ended_s, window_s) AS part_s,
    count(*) AS need,
    count(pass_quality) AS labelled,
    count(*) FILTER (WHERE pass_quality) AS passed,
    coalesce(sum(output_tokens), 0)::DOUBLE AS need_tokens,
    coalesce(sum(output_tokens) FILTER (WHERE pass_quality IS NOT NULL), 0)::DOUBLE AS labelled_tokens,
    coalesce(sum(output_tokens) FILTER (WHERE pass_quality), 0)::DOUBLE AS passed_tokens,
    coalesce(sum(output_tokens::HUGEINT ** 2), 0)::DOUBLE AS need_squares,
    coalesce(sum(output_tokens::HUGEINT ** 2) FILTER (WHERE pass_quality IS NOT NULL), 0)::DOUBLE AS labelled_squares,
    coalesce(sum(output_tokens::HUGEINT ** 2) FILTER (WHERE pass_quality), 0)::DOUBLE AS passed_squares
FROM label_requests
CROSS JOIN grains
GROUP BY ALL
