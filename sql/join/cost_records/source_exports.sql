-- description: The exports that each source file belongs to, the date in their paths, and who read it
-- grain: source_id, export
-- reads: cost_copies, source_files
-- kind: view
-- What did not change from one export to the next, such as a part of it, is one source and belongs to both; so does what was
-- compressed since. Where a file was moved from says nothing of it any more.
SELECT DISTINCT
    coalesce(c.counts_as, f.source_id) AS source_id,
    content_hash,
    reader,
    -- parts of one export lie in one folder and differ in a part number; all other files are exports of their own
    landing || '/' || regexp_replace(plain_path, '(part[-_]?\d+[^/]*|[-_](\d{5}|\d{12})(\.[A-Za-z0-9.]+)?)$', '') AS export,
    path_date(path) AS export_date
FROM source_files AS f
LEFT JOIN cost_copies AS c USING (source_id)
WHERE NOT f.is_past
