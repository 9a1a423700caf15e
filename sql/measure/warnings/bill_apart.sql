-- description: Bills of the last measured days that name next to nothing of telemetry, while something else prices what it shows: perhaps one cost, paid twice
-- grain: subject
-- reads: billed_buckets, recent_windows, waste
WITH days AS (
    SELECT DISTINCT window_s, window_start FROM recent_windows WHERE slice = 'overall'
),
spent AS (
    SELECT sum_usd(w.usd) AS usd
    FROM waste AS w
    JOIN days USING (window_s, window_start)
    WHERE w.slice = 'overall'
),
billed AS (
    SELECT
        b.basis,
        min(d.window_start) AS from_at, max(d.window_start) AS last_at,
        sum_usd(b.usd) AS usd,
        coalesce(sum_usd(CASE WHEN b.bucket = 'unattributed' THEN b.usd END), 0) AS unattributed_usd
    FROM billed_buckets AS b
    JOIN days AS d ON b.epoch_hour * 3600 >= epoch(d.window_start) AND b.epoch_hour * 3600 < epoch(d.window_start) + d.window_s
    WHERE b.bucket <> 'displaced'
    GROUP BY b.basis
)
SELECT
    'high' AS severity,
    b.basis AS subject,
    format('{} of {} by basis {} names nothing that telemetry shows, and {} is spent on what it does show: by `[rates]`, listed prices or another bill. '
            || 'If both are of the same machines or calls, up to {} is paid twice: have tags name whose a line is (`[costs]` `replica_tags`, `pool_tags`), '
            || 'or leave one of them out',
        dollars(b.unattributed_usd), dollars(b.usd), b.basis, dollars(s.usd - b.usd), dollars(least(b.unattributed_usd, s.usd - b.usd))) AS message,
    least(b.unattributed_usd, s.usd - b.usd) AS amount_usd,
    b.from_at AS first_seen_at,
    b.last_at AS last_seen_at
FROM billed AS b
CROSS JOIN spent AS s
WHERE b.unattributed_usd >= 0.9 * b.usd AND least(b.unattributed_usd, s.usd - b.usd) >= greatest(0.01, 0.01 * s.usd)
