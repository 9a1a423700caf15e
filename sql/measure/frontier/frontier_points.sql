-- description: Outcomes of each window of a load bin: requests that ended and succeeded, and the estimate of those accepted
-- grain: slice, name, load_bin, window_start
-- reads: frontier_loads, frontier_strata, frontier_windows
SELECT
    slice, name, load_bin, window_start,
    sum(accepted_estimate(s.policy, w.accepted, w.need, w.labelled, s.pass_rate)
        -- adds up to nothing over the bin: how far this window's own labels lie from the bin's
        + CASE WHEN s.policy = 'estimate' AND s.labelled > 0 AND w.need > 0
            THEN s.need / s.labelled * (w.accepted - w.labelled * s.pass_rate) ELSE 0 END
        ORDER BY workload, pool, route) AS estimate,
    sum(w.ended)::BIGINT AS ended,
    sum(w.succeeded)::BIGINT AS succeeded
FROM frontier_windows AS w
JOIN frontier_loads USING (slice, name, window_start)
JOIN frontier_strata AS s USING (slice, name, load_bin, workload)
GROUP BY ALL
