-- description: What the newest alarms of a period saw: their series beside what was usual and where they fire, pages first
-- grain: period, alarm_id, at
-- reads: alarm_episodes, alarm_series, shown_periods
-- alarm_series has the windows around the last time that an alarm fired
WITH newest AS (
    SELECT * FROM alarm_episodes QUALIFY row_number() OVER (PARTITION BY alarm_id ORDER BY starts_at DESC) = 1
),
-- what another alarm, an operation or an operator held back comes last; a backfill says nothing of how much it matters
shown AS (
    SELECT
        p.period, p.until_at, n.*,
        row_number() OVER (
            PARTITION BY p.period
            ORDER BY
                coalesce(n.suppressed, 'backfill') <> 'backfill', n.ended_at IS NOT NULL, n.severity <> 'page',
                n.starts_at DESC, n.alarm_id
        ) AS nth
    FROM newest AS n
    JOIN shown_periods AS p ON n.starts_at < p.until_at AND coalesce(n.ended_at, p.until_at) > p.from_at
    WHERE n.alarm_id IN (SELECT alarm_id FROM alarm_series)
)
SELECT
    s.period, s.nth, s.alarm_id, s.rule, s.severity, s.workload, s.pool, s.replica,
    concat_ws(' ', s.rule, s.workload, s.pool, s.replica) AS alarm,
    w.window_start AS at, w.value, w.usual, w.bound, w.quantity,
    s.starts_at AS fired_at, least(coalesce(s.ended_at, s.until_at), s.until_at) AS over_at
FROM shown AS s
JOIN alarm_series AS w USING (alarm_id)
WHERE s.nth <= 4 AND w.window_start >= s.starts_at - INTERVAL 4 DAY AND w.window_start < s.until_at
ORDER BY ALL
