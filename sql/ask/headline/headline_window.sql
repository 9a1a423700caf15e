-- description: The period that `headline` and `leaks` cover, in one line
-- grain: one row at most
-- reads: latest_window, watermark
SELECT
    format('From {} UTC, {:g} h{}',
        minute_utc(window_start),
        window_s / 3600,
        CASE WHEN partial THEN ', partly observed' ELSE '' END
            -- what comes late, such as labels and bills, can change it
            || CASE WHEN (SELECT min(final_until_at) FROM watermark) < window_start + to_seconds(window_s) THEN ', not final yet' ELSE '' END) AS line
FROM latest_window
