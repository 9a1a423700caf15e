-- description: Replicas of the latest window: whether records or metrics show them, and what their time cost
-- grain: replica
-- reads: cost_ledger, latest_window, replica_windows
WITH seen AS (
    SELECT
        r.window_start, r.replica,
        r.attempts > 0 AS in_records,
        coalesce(r.restarts, r.mean_kv_usage_ratio, r.mean_running_requests, r.mean_waiting_requests) IS NOT NULL AS in_metrics
    FROM replica_windows AS r
    JOIN latest_window USING (window_s, window_start)
),
paid AS (
    SELECT c.replica, sum_usd(c.usd) AS usd
    FROM cost_ledger AS c
    JOIN (SELECT replica FROM seen WHERE in_records <> in_metrics) AS s USING (replica)
    JOIN latest_window AS w ON c.window_start >= w.window_start AND c.window_start < w.window_start + to_seconds(w.window_s)
    GROUP BY c.replica
)
SELECT s.*, p.usd
FROM seen AS s
LEFT JOIN paid AS p USING (replica)
