-- description: How full each replica was, window by window: its KV cache, the requests that waited for it, and what it preempted
-- grain: period, replica, at
-- reads: replica_windows, shown_periods
-- unit: kv_usage_ratio: the highest reading; waiting, running: the most requests at a reading; NULL: not read
WITH windowed AS (
    SELECT
        p.period, r.pool, r.model, r.replica, r.window_start AS at, r.window_s, r.max_kv_usage_ratio AS kv_usage_ratio,
        r.max_waiting_requests AS waiting, r.max_running_requests AS running, r.preemptions, coalesce(r.stale, false) AS is_stale,
        max(r.max_kv_usage_ratio) OVER (PARTITION BY p.period, r.replica) AS fullest,
        max(r.max_waiting_requests) OVER (PARTITION BY p.period, r.replica) AS longest
    FROM replica_windows AS r
    JOIN shown_periods AS p ON r.window_s = p.drawn_s AND r.window_start >= p.from_at AND r.window_start < p.until_at
    WHERE coalesce(r.max_kv_usage_ratio, r.max_waiting_requests, r.max_running_requests) IS NOT NULL
)
SELECT * EXCLUDE (fullest, longest)
FROM windowed
-- more rows than a picture can hold are for a table to show: those that were fullest
QUALIFY dense_rank() OVER (PARTITION BY period ORDER BY coalesce(fullest, 0) DESC, coalesce(longest, 0) DESC, replica) <= 60
ORDER BY ALL
