-- description: Whether no request of the last 7 measured days has a pool
-- grain: one row at most
-- reads: recent_windows
SELECT
    'low' AS severity,
    'pool' AS subject,
    format('None of {:,} request(s) has a pool, so capacity, disruptions and cost by pool say nothing. `attributes.pool` names the '
        || 'attribute that has it; a declared source has a column or constant for it', sum(offered)::BIGINT) AS message,
    sum(offered) AS affected,
    sum(offered) AS total,
    min(window_start) AS first_seen_at,
    max(window_start) AS last_seen_at
FROM recent_windows
WHERE slice = 'finest' AND offered > 0
HAVING bool_and(pool = 'unknown')
