-- description: What evaluators, and the quality gate, say of the answers that were delivered, by window, workload and model (docs/semantics.md#what-evaluators-say)
-- grain: window_start, window_s, workload, model, evaluator, label
-- reads: grains, quality_labels, requests, workload_rules
-- Rows without an evaluator are of the gate, those without a label of all labels of their evaluator.
WITH answered AS (
    SELECT
        request_key, ended_at, epoch_us(ended_at) // 1000000 AS ended_s,
        workload, coalesce(model, 'unknown') AS model, pass_quality
    FROM requests
    WHERE pass_success
),
judged AS (
    SELECT ended_s, workload, model, NULL::VARCHAR AS evaluator, NULL::VARCHAR AS label, pass_quality AS passed
    FROM answered
    WHERE pass_quality IS NOT NULL
    UNION ALL
    SELECT a.ended_s, a.workload, a.model, l.evaluator, CASE WHEN by_label THEN l.label END, l.passed
    FROM answered AS a
    -- a key may name another request in another hour
    JOIN quality_labels AS l ON l.request_key = a.request_key AND l.request_at = a.ended_at
    CROSS JOIN (VALUES (false), (true)) AS cuts(by_label)
    WHERE l.current AND l.passed IS NOT NULL AND (l.label IS NOT NULL OR NOT by_label)
),
answers AS (
    SELECT g.window_s, ended_s // g.window_s * g.window_s AS start_s, workload, model, count(*) AS answered
    FROM answered
    CROSS JOIN grains AS g
    GROUP BY ALL
),
counted AS (
    SELECT
        g.window_s, ended_s // g.window_s * g.window_s AS start_s, workload, model, evaluator, label,
        count(*) AS judged,
        count(*) FILTER (WHERE passed) AS passed
    FROM judged
    CROSS JOIN grains AS g
    GROUP BY ALL
),
sampled AS (
    SELECT
        c.*, a.answered,
        passed / judged AS pass_ratio,
        -- of a label's answers as many are judged as of all
        drawn_size(judged, a.answered * judged / max(judged) FILTER (WHERE label IS NULL)
            OVER (PARTITION BY window_s, start_s, workload, model, evaluator)) AS n
    FROM counted AS c
    JOIN answers AS a USING (window_s, start_s, workload, model)
)
SELECT
    make_timestamptz(start_s * 1000000) AS window_start, window_s, workload, model, evaluator, label,
    answered, judged, passed,
    pass_ratio,
    -- of labels that nobody drew there is no interval
    CASE WHEN w.sampling IS DISTINCT FROM 'none' THEN wilson(pass_ratio, n).low END AS pass_ci_low_ratio,
    CASE WHEN w.sampling IS DISTINCT FROM 'none' THEN wilson(pass_ratio, n).high END AS pass_ci_high_ratio
FROM sampled
LEFT JOIN (SELECT workload, sampling FROM workload_rules) AS w USING (workload)
