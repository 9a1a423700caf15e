-- description: Replicas of the latest window that records alone show, while metrics alone show others: perhaps one under two names, and paid twice
-- grain: one row at most
-- reads: latest_replicas
WITH apart AS (
    SELECT
        any_value(window_start) AS window_start,
        list_sort(list(replica) FILTER (WHERE NOT in_metrics)) AS recorded,
        list_sort(list(replica) FILTER (WHERE NOT in_records)) AS sampled,
        bool_or(NOT in_metrics AND regexp_full_match(replica, '.+:\d+')) AS has_address,
        sum_usd(CASE WHEN NOT in_metrics THEN usd END) AS recorded_usd,
        sum_usd(CASE WHEN NOT in_records THEN usd END) AS sampled_usd
    FROM latest_replicas
    WHERE in_records <> in_metrics
)
SELECT
    CASE WHEN recorded_usd > 0 AND sampled_usd > 0 THEN 'high' ELSE 'medium' END AS severity,
    'replicas' AS subject,
    format('Replicas in records alone: {}; in metrics alone: {}.{}{} Where two of them are one, `[replicas]` in the settings names them',
        some_of(recorded), some_of(sampled),
        CASE WHEN recorded_usd > 0 AND sampled_usd > 0 THEN format(' They cost {} and {}: what is one replica is paid twice.',
            dollars(recorded_usd), dollars(sampled_usd)) ELSE '' END,
        CASE WHEN has_address THEN ' An address in records may stand for all replicas behind a gateway.' ELSE '' END) AS message,
    len(recorded) + len(sampled) AS affected,
    least(recorded_usd, sampled_usd) AS amount_usd,
    window_start AS first_seen_at,
    window_start AS last_seen_at
FROM apart
WHERE len(recorded) > 0 AND len(sampled) > 0
