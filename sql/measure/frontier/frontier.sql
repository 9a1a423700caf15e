-- description: Goodput by offered load per replica, by route and by pool, with the highest load that is still served well (docs/semantics.md#frontier)
-- grain: slice, pool, route, load_bin
-- reads: frontier_bins, frontier_knees, frontier_sustained, frontier_tails, knee_curves
-- Loads between the least and the most observed that never occurred are rows with no windows, one for each gap.
WITH ranges AS (
    SELECT slice, name, load_bin, load_bin + 1 AS end_bin FROM frontier_bins
    UNION ALL
    SELECT slice, name, load_bin + 1, next_bin
    FROM (SELECT *, lead(load_bin) OVER (PARTITION BY slice, name ORDER BY load_bin) AS next_bin FROM frontier_bins)
    WHERE next_bin > load_bin + 1
)
SELECT
    slice,
    CASE WHEN slice = 'pool' THEN name END AS pool,
    CASE WHEN slice = 'route' THEN name END AS route,
    r.load_bin,
    10 ** (r.load_bin / 20) AS from_rps,
    10 ** (r.end_bin / 20) AS to_rps,
    coalesce(b.windows, 0) AS windows,
    coalesce(b.arrivals, 0) AS arrivals,
    b.load_rps,
    b.replicas,
    ratio(b.succeeded, b.replica_time_s) AS throughput_rps,
    ratio(b.estimate, b.replica_time_s) AS goodput_rps,
    b.goodput_ratio,
    b.goodput_ratio_ci_low, b.goodput_ratio_ci_high,
    b.no_interval,
    t.p99_ttft_s, t.p99_tpot_s, t.p99_e2e_s,
    b.p99_gates_hold,
    s.is_sustained,
    b.cost_per_accepted_usd,
    b.cost_per_accepted_ci_low_usd, b.cost_per_accepted_ci_high_usd,
    b.no_cost_interval,
    is_low_n(b.ended) AS low_n,
    k.unloaded_goodput_ratio,
    k.knee_rps,
    k.knee_ci_low_rps,
    k.knee_ci_high_rps,
    k.knee_censored,
    k.knee_windows,
    k.knee_gate,
    k.knee_bound_ratio,
    c.fail_ratio,
    c.pooled_fail_ratio,
    k.disrupted_windows,
    k.observed_min_rps,
    k.observed_max_rps,
    k.peak_rps,
    k.shared_ratio,
    k.headroom,
    k.recommended_replicas,
    k.no_recommendation
FROM ranges AS r
JOIN frontier_knees AS k USING (slice, name)
LEFT JOIN frontier_bins AS b USING (slice, name, load_bin)
LEFT JOIN frontier_sustained AS s USING (slice, name, load_bin)
LEFT JOIN frontier_tails AS t USING (slice, name, load_bin)
LEFT JOIN knee_curves AS c USING (slice, name, load_bin)
