-- description: What the records of each billing source pay per second for a replica or a pool, from moment to moment
-- grain: level, payer, step_s, dialect, basis, covers, from_ns
-- reads: cost_pieces
-- unit: payer is the replica or pool that is paid for; a record is spent evenly over its period
-- Charges of no duration are not here, nor are pools that telemetry does not know.
WITH changes AS (
    SELECT
        level, CASE level WHEN 'replica' THEN replica ELSE pool END AS payer, step_s, rank, dialect, basis, covers,
        unnest([from_ns, to_ns]) AS ns, unnest([1, -1]) AS change, (usd * 1e9 / (to_ns - from_ns))::DECIMAL(38, 18) AS usd_per_s
    FROM cost_pieces
    WHERE to_ns > from_ns AND (level = 'replica' OR level = 'pool' AND is_pool_known)
),
moments AS (
    SELECT level, payer, step_s, rank, dialect, basis, covers, ns, sum(change) AS change, sum(change * usd_per_s) AS usd_per_s
    FROM changes
    GROUP BY ALL
)
SELECT
    level, payer, step_s, rank, dialect, basis, covers, ns AS from_ns, lead(ns) OVER onward AS to_ns, sum(usd_per_s) OVER onward AS usd_per_s
FROM moments
WINDOW onward AS (PARTITION BY level, payer, step_s, rank, dialect, basis, covers ORDER BY ns)
QUALIFY sum(change) OVER onward > 0
