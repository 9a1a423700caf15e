-- description: Gates of workloads of one name that not all lakes with the workload have, or not alike
-- grain: workload, gate
-- reads: workloads
WITH gates AS (
    SELECT DISTINCT lake, workload, gate, bound, on_missing, unlabelled, sampling, unit FROM workloads
),
having_it AS (
    SELECT workload, count(DISTINCT lake) AS lakes FROM gates GROUP BY workload
),
alike AS (
    SELECT * EXCLUDE (lake), count(DISTINCT lake) AS lakes, string_agg(DISTINCT lake, ', ' ORDER BY lake) AS named FROM gates GROUP BY ALL
)
SELECT a.workload, a.gate, string_agg(DISTINCT a.named, '; ' ORDER BY a.named) AS lakes
FROM alike AS a
JOIN having_it AS h ON h.workload = a.workload AND h.lakes > a.lakes
GROUP BY a.workload, a.gate
ORDER BY a.workload, a.gate
