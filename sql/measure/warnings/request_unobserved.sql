-- description: Requests of the latest window that engines counted and no telemetry shows, where they are half a percent or more
-- grain: one row at most
-- reads: recent_windows
SELECT
    CASE WHEN unobserved >= 0.05 * offered THEN 'high' ELSE 'medium' END AS severity,
    'requests' AS subject,
    format('Engines counted {:,} request(s) more than any telemetry shows', round(unobserved)::BIGINT)
        -- labels that nobody drew give no goodput of which to say that
        || coalesce(format(': goodput is {:.1f} % if none of them was accepted, {:.1f} % if all were, with the others as the traced layers saw them',
            100 * goodput_ratio_low, 100 * goodput_ratio_high), '')
        || '. What they took of their replicas is in `idle`, and costs per accepted are too high by their part. Relation coverage has them '
        || 'by replica and hour' AS message,
    round(unobserved) AS affected,
    offered + round(unobserved) AS total,
    window_start AS first_seen_at,
    window_start AS last_seen_at
FROM recent_windows
WHERE is_latest AND slice = 'overall' AND unobserved >= greatest(1, 0.005 * offered) -- a request or two is always in another window
