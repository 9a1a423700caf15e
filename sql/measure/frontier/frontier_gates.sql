-- description: Whether at most 1 % of the requests of a load bin fail each gate: then every p99 holds
-- grain: slice, name, load_bin
-- reads: frontier_loads, knee_gates
WITH failed AS (
    SELECT slice, name, load_bin, gate, ratio(sum(failing), sum(gated)) AS fail_ratio
    FROM knee_gates
    JOIN frontier_loads USING (slice, name, window_start)
    GROUP BY ALL
)
SELECT slice, name, load_bin, max(fail_ratio) <= 0.01 AS p99_gates_hold
FROM failed
GROUP BY ALL
