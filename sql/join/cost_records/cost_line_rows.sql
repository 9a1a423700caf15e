-- description: Cost lines of each source, how many of them are copies of another line, and how many count nowhere by which rule
-- grain: source_id
-- reads: judged_cost_lines, unused_cost_lines
WITH unused AS (
    SELECT source, reason, count(*) AS lines
    FROM unused_cost_lines
    GROUP BY source, reason
),
by_source AS (
    SELECT source AS source_id, sum(lines)::BIGINT AS lines, to_json(map_from_entries(list((reason, lines) ORDER BY reason)))::VARCHAR AS unused
    FROM unused
    GROUP BY source
),
given AS (
    SELECT source_id, count(*) AS lines, count(*) FILTER (WHERE reason IS NULL) AS kept
    FROM judged_cost_lines
    GROUP BY source_id
)
SELECT
    g.source_id,
    NULL::BIGINT AS epoch_hour,
    g.lines - coalesce(b.lines, 0) AS records,
    g.lines - coalesce(b.lines, 0) - g.kept AS duplicates,
    coalesce(b.unused, '{}') AS unused
FROM given AS g
LEFT JOIN by_source AS b USING (source_id)
