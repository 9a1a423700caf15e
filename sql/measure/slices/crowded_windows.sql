-- description: Windows with more values of a slice than the settings allow
-- grain: cut, window_s, start_s
-- reads: kept_values
SELECT DISTINCT cut, window_s, start_s FROM kept_values
