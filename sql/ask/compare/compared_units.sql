-- description: What each window and each session of a side adds to its estimates: requests of one window, or of one session, fare alike
-- grain: side, kind (window or session), unit
-- reads: compared_requests, compared_strata
-- unit: estimate: accepted requests, quality: residual of quality_ratio; both vary as far as the unit's own labels show (Woodruff 1971)
WITH placed AS (
    SELECT
        r.side, r.start_s,
        -- a request without a session is one by itself
        coalesce('s' || r.session_id, 'r' || row_number() OVER ()) AS session,
        CASE WHEN r.needs_label AND s.pass_rate IS NOT NULL
            THEN s.pass_rate + coalesce(s.need / s.labelled * (r.passed::INTEGER - s.pass_rate), 0)
            ELSE (r.is_accepted OR r.needs_label)::INTEGER
        END AS estimate,
        coalesce(s.weight / s.labelled * (r.passed::INTEGER - s.pass_rate), 0) AS quality
    FROM compared_requests AS r
    JOIN compared_strata AS s USING (side, workload)
)
SELECT
    side, 'window' AS kind, start_s::VARCHAR AS unit,
    count(*) AS n, sum_steady(estimate) AS estimate, sum_steady(quality) AS quality
FROM placed
GROUP BY side, start_s
UNION ALL
SELECT side, 'session', session, count(*), sum_steady(estimate), sum_steady(quality)
FROM placed
GROUP BY side, session
