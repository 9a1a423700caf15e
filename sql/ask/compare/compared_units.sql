-- description: What each window and each session of a side adds to its estimates: requests of one window, or of one session, fare alike
-- grain: side, dimension, place, kind (window or session), unit
-- reads: compared_residuals
SELECT
    side, dimension, place, 'window' AS kind, start_s::VARCHAR AS unit,
    count(*) AS n, sum_steady(estimate) AS estimate, sum_steady(quality) AS quality, bool_or(is_judged) AS is_judged,
    sum_usd(cost_usd) AS cost_usd
FROM compared_residuals
GROUP BY side, dimension, place, start_s
UNION ALL
SELECT
    side, dimension, place, 'session', session,
    count(*), sum_steady(estimate), sum_steady(quality), bool_or(is_judged),
    sum_usd(cost_usd)
FROM compared_residuals
GROUP BY side, dimension, place, session
