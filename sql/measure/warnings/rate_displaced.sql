-- description: Rates that lines of costs displace on the newest day for less than a third of what they would charge: for something beside the GPUs, perhaps
-- grain: subject
-- reads: cost_ledger, rates
-- unit: amount_usd: by how much less the replicas cost than at the rate
WITH paid AS (
    SELECT
        pool, replica, sum_usd(usd) AS usd, sum_steady(gpu_s) AS gpu_s,
        min(window_start) AS first_at, max(window_start + to_seconds(window_s)) AS last_at
    FROM cost_ledger
    WHERE basis IN ('billing', 'allocation') AND replica IS NOT NULL AND gpu_s > 0
    GROUP BY ALL
),
rated AS (
    SELECT p.*, r.name, p.gpu_s / r.gpus * r.usd_per_s AS rate_usd
    FROM paid AS p
    JOIN rates AS r ON matches_any(p.pool, r.pool) AND matches_any(p.replica, r.replica)
    QUALIFY row_number() OVER (PARTITION BY p.pool, p.replica ORDER BY r.ordinal) = 1
)
SELECT
    'high' AS severity,
    'rates.' || name AS subject,
    format('Lines of costs displace [rates.{}] for {:,} replica(s), such as {}: what they charge for {:,.2f} h of GPUs is {}, at the rate that is {}. '
            || 'If they are for something beside the GPUs (a volume, a load balancer), leave them out by [costs] services, or let no tag name the '
            || 'replica or pool; else the rate is not what is paid',
        name, count(*), min(replica), sum_steady(gpu_s) / 3600, dollars(sum_usd(usd)), dollars(sum_usd(rate_usd))) AS message,
    count(*) AS affected,
    sum_usd(rate_usd - usd) AS amount_usd,
    min(first_at) AS first_seen_at,
    max(last_at) AS last_seen_at
FROM rated
WHERE usd < rate_usd / 3
GROUP BY name
