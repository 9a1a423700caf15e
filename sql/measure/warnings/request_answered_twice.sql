-- description: Requests of the latest window of which a try began after an earlier one had been answered: questions that share an id
-- grain: subject
-- reads: attempts, latest_window, options
WITH shown AS (
    SELECT min(window_start) AS from_at, max(window_start + to_seconds(window_s)) AS until_at FROM latest_window
),
-- bounds as values: joined, they would be compared with every attempt of the day pair by pair
seen AS (
    SELECT request_key, workload, attempt_index, started_at, ended_at, outcome
    FROM attempts
    WHERE ended_at >= (SELECT from_at FROM shown) AND ended_at < (SELECT until_at FROM shown)
),
answered_again AS (
    SELECT l.workload, l.request_key, l.ended_at, epoch_us(l.started_at - b.ended_at) / 1e6 AS after_s
    FROM (FROM seen WHERE attempt_index > 0 AND outcome = 'ok') AS l
    JOIN seen AS b ON b.request_key = l.request_key AND b.attempt_index = l.attempt_index - 1
    WHERE b.outcome = 'ok' AND l.started_at >= b.ended_at
        -- later than that the key names another request
        AND l.started_at - b.started_at <= to_microseconds((SELECT max_request_lifetime_ns // 1000 FROM options))
),
counted AS (
    SELECT workload, count(DISTINCT request_key) AS total FROM seen GROUP BY workload
),
summed AS (
    SELECT
        workload, count(DISTINCT request_key) AS affected, median(after_s) AS after_s,
        min(ended_at) AS first_seen_at, max(ended_at) AS last_seen_at
    FROM answered_again
    GROUP BY workload
)
SELECT
    CASE WHEN affected >= 0.01 * total THEN 'high' ELSE 'low' END AS severity,
    workload AS subject,
    format('{:,} of {:,} request(s) of workload {} were answered more than once: another try began {:.3g} s (median) after an '
        || 'answer. An id or key names the tries of one request, so that they count once, with retries and the latency of all '
        || 'together. If they are questions of their own, as of a load test that ran twice, give each an id of its own',
        affected, total, workload, after_s) AS message,
    affected,
    total,
    first_seen_at,
    last_seen_at
FROM summed
JOIN counted USING (workload)
