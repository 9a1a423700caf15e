-- description: What each request adds to its side's estimates: accepted ones by its own label where it has one, else by its stratum's rate
-- grain: request, dimension
-- reads: compared_cells, compared_parts, compared_strata
-- unit: quality: its residual of quality_ratio x the size of the common mix; both vary as far as the labels show (Woodruff 1971)
SELECT
    p.side, p.dimension, p.place, p.start_s,
    -- a request without a session is one by itself
    coalesce('s' || p.session_id, 'r' || p.request_key) AS session,
    CASE WHEN p.needs_label AND s.pass_rate IS NOT NULL
        THEN s.pass_rate + coalesce(s.need / s.labelled * (p.passed::INTEGER - s.pass_rate) * s.few, 0)
        ELSE (p.is_accepted OR p.needs_label AND p.passed IS NULL)::INTEGER
    END AS estimate,
    coalesce(CASE WHEN p.needs_label THEN s.mixed / s.need * (s.pass_rate - s.workload_rate) END, 0)
        + coalesce(s.mixed / s.labelled * (p.passed::INTEGER - s.pass_rate) * s.few, 0) AS quality,
    s.weight IS NOT NULL AND p.passed IS NOT NULL AS is_judged,
    p.cost_usd
FROM compared_parts AS p
JOIN compared_cells AS c USING (side, dimension, place, workload, cell)
JOIN compared_strata AS s
    ON s.side = c.side AND s.dimension = c.dimension AND s.place = c.place AND s.workload = c.workload
    AND s.stratum IS NOT DISTINCT FROM c.stratum
