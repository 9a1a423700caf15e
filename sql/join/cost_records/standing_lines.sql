-- description: Lines of costs as each path gives them now
-- grain: source_id, line, position
-- reads: cost_lines, overwritten_lines
-- kind: view
SELECT * FROM cost_lines ANTI JOIN overwritten_lines USING (source_id, line, position)
