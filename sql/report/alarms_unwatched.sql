-- description: Whether no rule watches anything yet
-- grain: is_missing
-- reads: alarms
SELECT count(*) = 0 AS is_missing FROM alarms
