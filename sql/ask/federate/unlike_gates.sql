-- description: Terms of workloads of one name that not all lakes with the workload have alike: a gate, or what is counted; with what it is in which lakes
-- grain: workload, term
-- reads: settings, workloads
WITH terms AS (
    SELECT
        lake, workload, gate AS term,
        concat_ws(
            ', ', coalesce(bound::VARCHAR, 'set'), CASE WHEN on_missing = 'pass' THEN 'passes where it is missing' END,
            'unlabelled: ' || unlabelled, 'sampling: ' || sampling
        ) AS value
    FROM workloads
    WHERE gate IS NOT NULL
    UNION
    SELECT lake, workload, 'unit', unit FROM workloads
    UNION
    -- from where times are measured: of a lake that an older version published nobody knows
    SELECT w.lake, w.workload, s.setting, s.value FROM workloads AS w JOIN settings AS s ON s.lake = w.lake AND s.setting = 'latency_origin'
),
having_it AS (
    SELECT DISTINCT lake, workload FROM workloads
),
values_of_lakes AS (
    SELECT h.workload, a.term, coalesce(t.value, 'not set') AS value, string_agg(h.lake, ', ' ORDER BY h.lake) AS lakes
    FROM having_it AS h
    JOIN (SELECT DISTINCT workload, term FROM terms) AS a ON a.workload = h.workload
    LEFT JOIN terms AS t ON t.lake = h.lake AND t.workload = h.workload AND t.term = a.term
    WHERE t.term IS NOT NULL OR a.term <> 'latency_origin'
    GROUP BY ALL
)
SELECT workload, term, string_agg(value || ' in ' || lakes, '; ' ORDER BY lakes) AS value
FROM values_of_lakes
GROUP BY ALL
HAVING count(*) > 1
ORDER BY workload, term
