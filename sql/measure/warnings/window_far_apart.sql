-- description: Whether the latest window lies apart from those before it and has hardly a hundredth of their requests: a stray record takes the headline
-- grain: one row at most
-- reads: recent_windows
WITH overall AS (
    SELECT
        *,
        greatest(offered, arrivals) AS requests,
        lag(window_start) OVER windows AS before_at,
        max(greatest(offered, arrivals)) OVER (ORDER BY window_start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS most
    FROM recent_windows
    WHERE slice = 'overall'
    WINDOW windows AS (ORDER BY window_start)
)
SELECT
    'high' AS severity,
    'headline' AS subject,
    format('The latest window, from {} UTC, has {:,} request(s); windows before it, up to {} UTC, have up to {:,}. A stray or misdated '
        || 'record may have taken the headline: `from attempts order by started_at desc` shows it',
        minute_utc(window_start), requests, minute_utc(before_at), most) AS message,
    requests AS affected,
    most AS total,
    window_start AS first_seen_at,
    window_start AS last_seen_at
FROM overall
WHERE is_latest AND window_start > before_at + to_seconds(window_s) AND requests * 100 <= most
