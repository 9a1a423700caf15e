-- description: Workloads that no request of the last 7 measured days matched, with the names that were seen and the nearest
-- grain: subject
-- reads: recent_windows, seen_names, workload_rules
WITH idle AS (
    SELECT * FROM workload_rules
    ANTI JOIN (SELECT workload FROM recent_windows WHERE slice = 'workload' AND offered + arrivals > 0) USING (workload)
),
wanted AS (
    SELECT workload, dimension, unnest(globs) AS glob
    FROM (
        SELECT workload, unnest([
            {dimension: 'model', globs: model}, {dimension: 'route', globs: route}, {dimension: 'pool', globs: pool}
        ], max_depth := 2)
        FROM idle
    )
),
unmatched AS (
    SELECT
        w.workload, w.dimension,
        format('no {} matches {}', w.dimension, some_of(list_sort(list(DISTINCT w.glob))))
            || coalesce(format(' (nearest: {})',
                arg_max(s.name, (jaro_winkler_similarity(translate(w.glob, '*?', ''), s.name), s.requests, s.name))), '') AS why
    FROM wanted AS w
    LEFT JOIN seen_names AS s USING (dimension)
    GROUP BY w.workload, w.dimension
    HAVING NOT bool_or(s.name IS NOT NULL AND matches_any(s.name, [w.glob]))
),
seen AS (
    SELECT string_agg(names, '; ' ORDER BY dimension) AS names
    FROM (
        SELECT dimension, format('{}s {}', dimension, some_of(list(name ORDER BY requests DESC, name))) AS names
        FROM seen_names
        GROUP BY dimension
    )
),
offered AS (
    SELECT sum(offered)::BIGINT AS requests, min(window_start) AS from_at, max(window_start) AS until_at
    FROM recent_windows
    WHERE slice = 'overall'
    HAVING sum(offered + arrivals) > 0
)
SELECT
    'high' AS severity,
    i.workload AS subject,
    format('Workload {} matched none of {:,} request(s): {}. Seen were {}. Correct its `match`, or remove it',
        i.workload, o.requests,
        coalesce(
            (SELECT string_agg(u.why, ', ' ORDER BY u.dimension) FROM unmatched AS u WHERE u.workload = i.workload),
            'none has all that its `match` asks for, or an earlier workload selects them first'),
        coalesce(s.names, 'no model, route or pool at all')) AS message,
    0 AS affected,
    o.requests AS total,
    o.from_at AS first_seen_at,
    o.until_at AS last_seen_at
FROM idle AS i
CROSS JOIN offered AS o
CROSS JOIN seen AS s
