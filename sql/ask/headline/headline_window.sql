-- description: The period that `headline` and `leaks` cover, in one line
-- grain: one row at most
-- reads: latest_window
SELECT
    format('From {} UTC, {:g} h{}',
        minute_utc(window_start),
        window_s / 3600,
        CASE WHEN partial THEN ', partly observed' ELSE '' END) AS line
FROM latest_window
