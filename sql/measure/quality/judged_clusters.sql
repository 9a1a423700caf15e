-- description: How judgements and passes go together within sessions: sums over pairs of answers of one session
-- grain: window_s, start_s, workload, model, evaluator, label
-- reads: answered_requests, grains, judgements, kept_names
-- unit: as in label_clusters; pairs are of all answers
WITH answers AS (
    SELECT
        g.window_s, ended_s // g.window_s * g.window_s AS start_s, workload, kept_name(model, n.models) AS model, session_hash,
        count(*) AS answered
    FROM answered_requests
    CROSS JOIN grains AS g
    LEFT JOIN kept_names AS n ON n.window_s = g.window_s AND n.start_s = ended_s // g.window_s * g.window_s
    WHERE session_hash IS NOT NULL
    GROUP BY ALL
    HAVING count(*) > 1
),
counted AS (
    SELECT
        g.window_s, ended_s // g.window_s * g.window_s AS start_s, workload, kept_name(model, n.models) AS model, evaluator, label, session_hash,
        count(*) AS judged,
        count(*) FILTER (WHERE passed) AS passed
    FROM judgements
    CROSS JOIN grains AS g
    LEFT JOIN kept_names AS n ON n.window_s = g.window_s AND n.start_s = ended_s // g.window_s * g.window_s
    GROUP BY ALL
),
-- answers of a session are pairs also where all that was judged is of none
paired AS (
    SELECT
        c.window_s, c.start_s, c.workload, c.model, evaluator, label,
        coalesce(sum(judged * (judged - 1)) FILTER (WHERE session_hash IS NOT NULL), 0)::BIGINT AS labelled_pairs,
        coalesce(sum(2 * judged * (coalesce(a.answered, 1) - judged)) FILTER (WHERE session_hash IS NOT NULL), 0)::BIGINT AS half_labelled_pairs,
        coalesce(sum(passed * (judged - 1)) FILTER (WHERE session_hash IS NOT NULL), 0)::BIGINT AS passed_pairs,
        coalesce(sum(passed * (passed - 1)) FILTER (WHERE session_hash IS NOT NULL), 0)::BIGINT AS both_passed_pairs,
        coalesce(sum(judged - 1) FILTER (WHERE session_hash IS NOT NULL), 0)::BIGINT AS followers
    FROM counted AS c
    LEFT JOIN answers AS a USING (window_s, start_s, workload, model, session_hash)
    GROUP BY ALL
)
SELECT p.*, coalesce(a.pairs, 0) AS pairs
FROM paired AS p
LEFT JOIN (
    SELECT window_s, start_s, workload, model, sum(answered * (answered - 1))::BIGINT AS pairs FROM answers GROUP BY ALL
) AS a USING (window_s, start_s, workload, model)
