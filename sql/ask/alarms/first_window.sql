-- description: When the first window of goodput begins
-- grain: one row
-- reads: goodput
SELECT min(window_start) AS first FROM goodput
