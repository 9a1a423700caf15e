-- description: Requests that need a label and those that have one, by all that is recorded of where and when they were served
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route, part_s
-- reads: grains, label_requests
-- unit: part_s: when a part of the window begins, of at most 24 parts and at least five minutes each
-- Requests are counted once, in the longest step that divides all windows and their parts.
WITH steps AS (
    SELECT list_reduce(list(gcd(window_s, part_length(window_s))), lambda a, b: gcd(a, b)) AS step_s FROM grains
),
stepped AS (
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
)
SELECT
    window_s,
    at_s // window_s * window_s AS start_s,
    cut, slice_value, workload, model, pool, route,
    window_part(at_s, window_s) AS part_s,
    sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled, sum(passed)::BIGINT AS passed,
    sum(partly_judged)::BIGINT AS partly_judged, sum(known_failed)::BIGINT AS known_failed,
    sum(COLUMNS('_(tokens|squares)$'))
FROM stepped
CROSS JOIN grains
GROUP BY ALL
