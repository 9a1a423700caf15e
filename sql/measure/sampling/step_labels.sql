-- description: Requests of each step that need a label and those that have one, by all that is recorded of where they were served
-- grain: at_s, cut, slice_value, workload, model, pool, route
-- reads: grains, label_requests
-- unit: at_s: when a step begins; the longest that divides all windows and their parts
WITH steps AS (
    SELECT list_reduce(list(gcd(window_s, part_length(window_s))), lambda a, b: gcd(a, b)) AS step_s FROM grains
)
SELECT
    ended_s // step_s * step_s AS at_s, cut, slice_value, workload, model, pool, route,
    count(*) AS need,
    count(pass_quality) AS labelled,
    count(*) FILTER (WHERE pass_quality) AS passed,
    count(*) FILTER (WHERE partly_judged) AS partly_judged,
    count(*) FILTER (WHERE pass_quality IS NULL AND verdict = 'rejected') AS known_failed,
    coalesce(sum(output_tokens) FILTER (WHERE pass_quality IS NULL AND verdict = 'rejected'), 0)::DOUBLE AS known_failed_tokens,
    coalesce(sum(output_tokens), 0)::DOUBLE AS need_tokens,
    coalesce(sum(output_tokens) FILTER (WHERE pass_quality IS NOT NULL), 0)::DOUBLE AS labelled_tokens,
    coalesce(sum(output_tokens) FILTER (WHERE pass_quality), 0)::DOUBLE AS passed_tokens,
    coalesce(sum(output_tokens::DOUBLE * output_tokens), 0) AS need_squares,
    coalesce(sum(output_tokens::DOUBLE * output_tokens) FILTER (WHERE pass_quality IS NOT NULL), 0) AS labelled_squares,
    coalesce(sum(output_tokens::DOUBLE * output_tokens) FILTER (WHERE pass_quality), 0) AS passed_squares
FROM label_requests
CROSS JOIN steps
GROUP BY ALL
