-- description: Rates that lines of costs displace on the newest day for less than a third of what they would charge: for something beside the GPUs, perhaps
-- grain: subject
-- reads: paid_time, rates
-- unit: amount_usd: by how much less the replicas cost than at the rate
-- Credits, taxes and adjustments displace nothing and do not count. Of steps with less than 1 % of the day's money nothing is said.
WITH rated AS (
    SELECT
        p.pool, p.replica, p.window_start, p.gpu_s, r.name,
        p.own_usd + p.pool_usd - coalesce(p.added_usd, 0) AS usd,
        p.gpu_s / r.gpus * r.usd_per_s AS rate_usd
    FROM paid_time AS p
    JOIN rates AS r ON matches_any(p.pool, r.pool) AND matches_any(p.replica, r.replica)
    WHERE p.replica IS NOT NULL AND p.gpu_s > 0
    QUALIFY row_number() OVER (PARTITION BY p.pool, p.replica, p.window_start ORDER BY r.ordinal) = 1
),
paid AS (
    SELECT *, usd < rate_usd / 3 AS is_displaced, sum(rate_usd) OVER (PARTITION BY name) AS all_usd FROM rated
)
SELECT
    'high' AS severity,
    'rates.' || name AS subject,
    format('Lines of costs displace [rates.{}] for {:,} replica(s), such as {}: what they charge for {:,.2f} h of GPUs is {}, at the rate that is {}. '
            || 'If they are for something beside the GPUs (a volume, a load balancer), leave them out by [costs] services, or let no tag name the '
            || 'replica or pool; else the rate is not what is paid',
        name, count(DISTINCT replica), min(replica), sum_steady(gpu_s) / 3600, dollars(sum_usd(usd)), dollars(sum_usd(rate_usd))) AS message,
    count(DISTINCT replica) AS affected,
    sum_usd(rate_usd - usd) AS amount_usd,
    min(window_start) AS first_seen_at,
    max(window_start) AS last_seen_at
FROM paid
WHERE is_displaced
GROUP BY name
HAVING sum_usd(rate_usd - usd) >= 0.01 * any_value(all_usd)
