-- description: Lines of costs of a file that was overwritten by one that covers their time, with the file that counts instead (docs/semantics.md#bills)
-- grain: source_id, line, position
-- reads: cost_lines, source_files
-- A file was read at one place and may lie, or have lain, at others: what is read later at any of them overwrites it.
-- A path that is used for another period every time keeps all of them: only what the newer file covers is replaced.
WITH covered AS (
    SELECT f.source_id, f.landing, f.path, f.ingested_ns, min(l.period_start_ns) AS from_ns, max(l.period_end_ns) AS until_ns
    FROM cost_lines AS l
    JOIN source_files AS f USING (source_id)
    GROUP BY ALL
)
SELECT l.source_id, l.line, l.position, max_by(n.source_id, (n.ingested_ns, n.source_id)) AS superseded_by_source
FROM cost_lines AS l
JOIN covered AS f USING (source_id)
JOIN covered AS n ON n.landing = f.landing AND n.path = f.path AND (n.ingested_ns, n.source_id) > (f.ingested_ns, f.source_id)
    AND l.period_start_ns >= n.from_ns AND (l.period_start_ns < n.until_ns OR l.period_start_ns = n.from_ns)
GROUP BY ALL
