-- description: Lines of costs of a file that was overwritten by one that covers their time, or is a compressed copy, with the file that counts instead (docs/semantics.md#bills)
-- grain: source_id, line, position
-- reads: cost_copies, cost_lines, source_files
-- A file was read at one place and may lie, or have lain, at others: what is read later at any of them overwrites it, compressed or not.
-- A file that breaks off, as one does while it is compressed, overwrites none that was read whole.
-- A path that is used for another period every time keeps all of them: only what the newer file covers is replaced.
WITH places AS (
    SELECT coalesce(c.counts_as, f.source_id) AS source_id, f.landing, f.plain_path, max((f.is_whole, f.ingested_ns)) AS version
    FROM source_files AS f
    LEFT JOIN cost_copies AS c USING (source_id)
    GROUP BY ALL
),
covered AS (
    SELECT f.source_id, f.landing, f.plain_path, f.version, min(l.period_start_ns) AS from_ns, max(l.period_end_ns) AS until_ns
    FROM cost_lines AS l
    JOIN places AS f USING (source_id)
    GROUP BY ALL
)
SELECT l.source_id, l.line, l.position, max_by(n.source_id, (n.version, n.source_id)) AS superseded_by_source
FROM cost_lines AS l
JOIN covered AS f USING (source_id)
JOIN covered AS n
    ON n.landing = f.landing AND n.plain_path = f.plain_path AND (n.version, n.source_id) > (f.version, f.source_id)
    AND l.period_start_ns >= n.from_ns AND (l.period_start_ns < n.until_ns OR l.period_start_ns = n.from_ns)
ANTI JOIN cost_copies AS c ON c.source_id = l.source_id
GROUP BY ALL
UNION ALL
SELECT l.source_id, l.line, l.position, c.counts_as
FROM cost_lines AS l
JOIN cost_copies AS c USING (source_id)
