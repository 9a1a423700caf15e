-- description: More replicas in the latest window than the settings keep names of other columns apart: names with ids of their own in them
-- grain: subject
-- reads: latest_window, replica_windows, slice_options
WITH seen AS (
    SELECT
        w.window_start, count(*) AS replicas, count(*) FILTER (WHERE r.attempts = 1) AS of_one_attempt
    FROM replica_windows AS r
    JOIN latest_window AS w USING (window_s, window_start)
    GROUP BY ALL
)
SELECT
    'medium' AS severity,
    'replica' AS subject,
    format('{:,} replicas in the latest window, {:,} of which served one attempt: each is priced and idle for itself. '
        'If their names carry ids of requests or processes, let `attributes.replica` prefer what names a server, or `[replicas]` map them',
        replicas, of_one_attempt) AS message,
    replicas AS affected,
    window_start AS first_seen_at,
    window_start AS last_seen_at
FROM seen
CROSS JOIN slice_options
WHERE replicas > max_names
