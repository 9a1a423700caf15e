-- description: Files of costs that were overwritten by less: what the newer content left out at either end still counts
-- grain: subject
-- reads: cost_copies, cost_lines, cost_records, source_files, source_ledger
-- A newer file that reaches further, such as the last 30 days, leaves behind what it no longer holds, and is meant to.
WITH held AS (
    SELECT
        f.source_id, f.landing, f.plain_path,
        min(l.period_start_ns) AS from_ns, max(l.period_end_ns) AS until_ns,
        row_number() OVER (PARTITION BY f.landing, f.plain_path ORDER BY f.is_whole DESC, f.ingested_ns DESC, f.source_id DESC) AS place
    FROM cost_lines AS l
    ANTI JOIN cost_copies AS c ON c.source_id = l.source_id
    JOIN (SELECT DISTINCT source_id, landing, plain_path, ingested_ns, is_whole FROM source_files) AS f USING (source_id)
    GROUP BY f.source_id, f.landing, f.plain_path, f.ingested_ns, f.is_whole
),
left_over AS (
    SELECT DISTINCT s.path, r.*
    FROM held AS o
    JOIN held AS n
        ON n.landing = o.landing AND n.plain_path = o.plain_path AND n.place = 1 AND n.until_ns <= o.until_ns AND n.until_ns > o.from_ns
    JOIN source_ledger AS s ON s.source_id = o.source_id
    JOIN cost_records AS r ON r.source = o.source_id
    WHERE o.place > 1 AND (r.period_start < at_utc(n.from_ns) OR r.period_start >= at_utc(n.until_ns))
)
SELECT
    'medium' AS severity,
    path AS subject,
    format('{} was overwritten by fewer days: {:,.2f} USD of {:,} line(s), from {} to {}, are no longer in it and still count. If they were '
            || 'wrong, move the file away, `goodput forget {}`, and put it back',
        path, sum_usd(amount_usd), count(*), minute_utc(min(period_start)), minute_utc(max(period_end)), path) AS message,
    count(*) AS affected,
    sum_usd(amount_usd) AS amount_usd,
    min(period_start) AS first_seen_at,
    max(period_end) AS last_seen_at
FROM left_over
GROUP BY path
