-- description: Replicas of the latest window that a rate pays and no metrics show: their time between requests is not paid
-- grain: one row at most
-- reads: cost_ledger, latest_replicas, latest_window, replica_windows
WITH paid AS (
    SELECT DISTINCT c.replica
    FROM cost_ledger AS c
    JOIN latest_replicas AS s ON s.replica = c.replica AND s.in_records AND NOT s.in_metrics
    JOIN latest_window AS w ON c.window_start >= w.window_start AND c.window_start < w.window_start + to_seconds(w.window_s)
    WHERE c.basis = 'rate_card' AND c.usd > 0
),
up AS (
    SELECT count(*) AS replicas, sum(r.up_s) / 3600 AS up_h, sum(r.window_s) / 3600 AS all_h, min(r.replica) AS first_replica
    FROM replica_windows AS r
    JOIN latest_window USING (window_s, window_start)
    JOIN paid USING (replica)
)
SELECT
    'medium' AS severity,
    'rates' AS subject,
    format('No metrics show {:,} replica(s) that a rate pays, such as {}: they are paid for {:,.1f} h in which requests show them up, of '
            || '{:,.1f} h. Scrapes, or bills, tell the rest', replicas, first_replica, up_h, all_h) AS message,
    replicas AS affected
FROM up
WHERE up_h < 0.9 * all_h
