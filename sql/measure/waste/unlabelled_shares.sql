-- description: Which part of a workload's unlabelled cost counts as accepted, window by window (docs/semantics.md#unlabelled-cost)
-- grain: window_s, start_s, workload
-- reads: ended_requests, grains, unloaded_costs, workload_rules
-- unit: share, with its 95 % interval low to high; the rest counts as rejected. No row: nothing shows it, it stays unlabelled.
-- As the labelled cost was divided; Wilson's interval at the number of labels, drawn without replacement.
WITH spent AS (
    SELECT
        window_s, start_s, workload,
        coalesce(sum(usd) FILTER (WHERE bucket = 'accepted'), 0)::DOUBLE AS accepted_usd,
        coalesce(sum(usd) FILTER (WHERE bucket = 'rejected'), 0)::DOUBLE AS rejected_usd,
        coalesce(sum(usd) FILTER (WHERE bucket = 'unlabelled'), 0)::DOUBLE AS unlabelled_usd
    FROM unloaded_costs
    WHERE cut = 0 AND bucket IN ('accepted', 'rejected', 'unlabelled')
    GROUP BY ALL
),
counted AS (
    SELECT g.window_s, e.step_s // g.window_s * g.window_s AS start_s, e.workload, sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled
    FROM ended_requests AS e
    CROSS JOIN grains AS g
    WHERE cut = 0
    GROUP BY ALL
),
ruled AS (
    SELECT
        s.*, w.unlabelled AS policy, c.need, c.labelled,
        accepted_usd + rejected_usd AS labelled_usd,
        CASE policy
            WHEN 'pass' THEN 1.0
            WHEN 'fail' THEN 0.0
            ELSE CASE WHEN w.sampling <> 'none' AND accepted_usd >= 0 AND rejected_usd >= 0 THEN ratio(accepted_usd, labelled_usd) END
        END AS share,
        -- of all that needs a label
        wilson(share, drawn_size(c.labelled, c.need)) AS of_all
    FROM spent AS s
    JOIN workload_rules AS w USING (workload)
    LEFT JOIN counted AS c USING (window_s, start_s, workload)
    WHERE w.has_quality
)
SELECT
    window_s, start_s, workload, share,
    CASE WHEN policy = 'estimate' AND labelled > 0 AND unlabelled_usd > 0
        THEN greatest(0, least(share, ((labelled_usd + unlabelled_usd) * of_all.low - accepted_usd) / unlabelled_usd)) ELSE 0 END AS low,
    CASE WHEN policy = 'estimate' AND labelled > 0 AND unlabelled_usd > 0
        THEN least(1, greatest(share, ((labelled_usd + unlabelled_usd) * of_all.high - accepted_usd) / unlabelled_usd)) ELSE 1 END AS high
FROM ruled
WHERE share IS NOT NULL
