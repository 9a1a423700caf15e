-- description: The exports that each source file belongs to, the date in their paths, and who read it
-- grain: source_id, export
-- reads: source_files
-- kind: view
-- What did not change from one export to the next, such as a part of it, is one source and belongs to both.
SELECT DISTINCT
    source_id,
    content_hash,
    reader,
    -- parts of one export lie in one folder and differ in a part number; all other files are exports of their own
    regexp_replace(path, '(part[-_]?\d+[^/]*|[-_](\d{5}|\d{12})(\.[A-Za-z0-9.]+)?)$', '') AS export,
    regexp_replace(
        coalesce(list_extract(regexp_extract_all(path, '20\d\d-?[01]\d-?[0-3]\d(T[0-9:.-]+)?'), -1), ''), '[^0-9]', '', 'g'
    ) AS export_date
FROM source_files
