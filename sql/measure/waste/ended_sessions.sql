-- description: How labels and passes go together within sessions, of each workload: sums over pairs of requests of one session
-- grain: window_s, start_s, workload
-- reads: grains, requests, workload_rules
-- unit: as in label_clusters
WITH sessions AS (
    SELECT
        window_s, epoch_us(ended_at) // 1000000 // window_s * window_s AS start_s, r.workload, hash(session_id) AS session_hash,
        count(*) AS need, count(pass_quality) AS labelled, count(*) FILTER (WHERE pass_quality) AS passed
    FROM requests AS r
    JOIN workload_rules AS w ON w.workload = r.workload AND w.has_quality AND w.unlabelled = 'estimate' AND w.sampling <> 'none'
    CROSS JOIN grains
    WHERE session_id IS NOT NULL AND needs_label AND verdict <> 'in_flight'
    GROUP BY ALL
    HAVING count(*) > 1
)
SELECT
    window_s, start_s, workload,
    unnest(pairs_in_sessions(need, labelled, passed))
FROM sessions
GROUP BY window_s, start_s, workload
