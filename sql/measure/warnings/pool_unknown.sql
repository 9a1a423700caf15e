-- description: Whether requests of the last 7 measured days have no pool: none of them, or such as fail more than those that have one
-- grain: one row at most
-- reads: recent_windows
WITH counted AS (
    SELECT
        pool = 'unknown' AS is_nowhere,
        sum(offered)::BIGINT AS requests, sum(failed)::BIGINT AS failures,
        min(window_start) AS first_seen_at, max(window_start) AS last_seen_at
    FROM recent_windows
    WHERE slice = 'finest' AND offered > 0
    GROUP BY is_nowhere
),
set_apart AS (
    SELECT
        n.requests AS nowhere, n.requests + coalesce(o.requests, 0) AS of_all, n.failures, o.requests IS NULL AS is_all,
        ratio(n.failures, n.requests) AS share_nowhere, ratio(o.failures, o.requests) AS share,
        n.first_seen_at, n.last_seen_at
    FROM (FROM counted WHERE is_nowhere) AS n
    LEFT JOIN (FROM counted WHERE NOT is_nowhere) AS o ON true
)
SELECT
    CASE WHEN is_all THEN 'low' ELSE 'high' END AS severity,
    'pool' AS subject,
    CASE
        WHEN is_all THEN format('None of {:,} request(s) has a pool, so capacity, disruptions and cost by pool say nothing. `attributes.pool` names '
            || 'the attribute that has it; a declared source has a column or constant for it', of_all)
        ELSE format('{:,} of {:,} request(s) have no pool, and {:.1f} % of them failed, of the others {:.1f} %: these failures are in no pool''s goodput '
            || 'or disruptions, nor in a revision''s (`goodput compare`). What a gateway refuses reaches no pool: look at slices by model or route, '
            || 'or let the gateway name the pool (`attributes.pool`)', nowhere, of_all, 100 * share_nowhere, 100 * share)
    END AS message,
    nowhere AS affected,
    of_all AS total,
    first_seen_at,
    last_seen_at
FROM set_apart
WHERE is_all OR failures >= 0.01 * of_all AND share_nowhere > share
