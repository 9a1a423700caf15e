-- description: What each request adds to its side's estimates: accepted ones by its own label where it has one, else by its stratum's rate
-- grain: request, dimension
-- reads: compared_parts, compared_strata
-- unit: quality: its residual of quality_ratio x need_of_all, the size of the common mix; both vary as far as the labels show (Woodruff 1971)
SELECT
    p.side, p.dimension, p.place, p.start_s,
    -- a request without a session is one by itself
    coalesce('s' || p.session_id, 'r' || p.request_key) AS session,
    CASE WHEN p.needs_label AND s.pass_rate IS NOT NULL
        THEN s.pass_rate + coalesce(s.need / s.labelled * (p.passed::INTEGER - s.pass_rate), 0)
        ELSE (p.is_accepted OR p.needs_label AND p.passed IS NULL)::INTEGER
    END AS estimate,
    coalesce(s.need_of_all / s.labelled * (p.passed::INTEGER - s.pass_rate), 0) AS quality,
    s.weight IS NOT NULL AND p.passed IS NOT NULL AS is_judged,
    p.cost_usd
FROM compared_parts AS p
JOIN compared_strata AS s USING (side, dimension, place, workload)
