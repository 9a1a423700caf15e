-- description: The period that `headline` and `leaks` cover, in one line: the latest published day, else the longest window
-- grain: one row at most
-- reads: goodput
SELECT
    format('From {} UTC, {:g} h{}',
        strftime(window_start AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M'),
        window_s / 3600,
        CASE WHEN partial THEN ', partly observed' ELSE '' END) AS line
FROM goodput
WHERE slice = 'overall' AND window_s = (SELECT max(window_s) FROM goodput)
ORDER BY window_start DESC
LIMIT 1
