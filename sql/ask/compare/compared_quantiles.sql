-- description: p50, p95 and p99 of each side's latencies over succeeded requests, each with its 95 % interval
-- grain: side, metric
-- reads: compared_requests, compared_windows
WITH sorted AS (
    SELECT
        side,
        unnest([
            {latency: 'ttft', sorted_s: list_sort(list(ttft_s) FILTER (WHERE ttft_s IS NOT NULL))},
            {latency: 'tpot', sorted_s: list_sort(list(tpot_s) FILTER (WHERE tpot_s IS NOT NULL))},
            {latency: 'e2e', sorted_s: list_sort(list(e2e_s) FILTER (WHERE e2e_s IS NOT NULL))}
        ], recursive := true)
    FROM compared_requests
    GROUP BY side
),
requested AS (
    SELECT side, latency, q.name, q.p, at_level(sorted_s, q.p) AS quantile_s
    FROM sorted
    CROSS JOIN (VALUES ('p50', 0.5::DOUBLE), ('p95', 0.95), ('p99', 0.99)) AS q (name, p)
    WHERE len(sorted_s) > 0
),
-- how the share below the quantile varies from window to window: requests of one window fare alike
windowed AS (
    SELECT
        a.side, a.latency, a.p, r.start_s,
        count(CASE a.latency WHEN 'ttft' THEN r.ttft_s WHEN 'tpot' THEN r.tpot_s ELSE r.e2e_s END) AS n,
        count(*) FILTER (WHERE CASE a.latency WHEN 'ttft' THEN r.ttft_s WHEN 'tpot' THEN r.tpot_s ELSE r.e2e_s END <= a.quantile_s) AS below
    FROM compared_requests AS r
    JOIN requested AS a USING (side)
    GROUP BY ALL
),
summed AS (
    SELECT
        side, latency, p,
        sum(w.n) AS n,
        sum((w.below - p * w.n) ** 2 ORDER BY start_s) AS squares,
        -- a window that is cut is as much of one as it is long: less than two show nothing of how windows vary
        sum(t.length_s) / any_value(t.base_s) AS windows
    FROM windowed AS w
    JOIN compared_windows AS t USING (side, start_s)
    WHERE w.n > 0
    GROUP BY side, latency, p
),
varied AS (
    SELECT
        side, latency, p,
        greatest(
            p * (1 - p) / n,
            CASE WHEN windows >= 2
                THEN squares * windows / (windows - 1) / n ** 2 * (student_beyond(windows - 1, 0.025) / normal_beyond(0.025)) ** 2
                ELSE 0 END) AS variance
    FROM summed
)
SELECT side, name || '_' || latency || '_s' AS metric, quantile_within(sorted_s, p, variance) AS estimate
FROM requested
JOIN sorted USING (side, latency)
JOIN varied USING (side, latency, p)
