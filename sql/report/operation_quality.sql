-- description: What an evaluator said of the answers of a pool before and after an operation on it, of the evaluator and workload whose shares differ most surely
-- grain: event_id
-- reads: disruptions, goodput, quality, shown_periods, watermark
-- unit: shares of the judged answers, with 95 % intervals for windows like these; before: from the last deployment or change of configuration of the pool on, at most a day; after: until the next, at most a day
WITH base AS (SELECT min(window_s) AS window_s FROM quality),
-- scaling is frequent, and leaves what answers as it is
done AS (
    SELECT DISTINCT d.event_id, d.pool, d.occurred_at
    FROM disruptions AS d
    JOIN shown_periods AS p ON d.occurred_at >= p.from_at AND d.occurred_at < p.until_at
    WHERE d.kind NOT IN ('scale_out', 'scale_in')
),
spans AS (
    SELECT
        d.*,
        greatest(d.occurred_at - INTERVAL 1 DAY, max(o.ended_at) FILTER (WHERE o.occurred_at < d.occurred_at)) AS from_at,
        least(d.occurred_at + INTERVAL 1 DAY, min(o.occurred_at) FILTER (WHERE o.occurred_at > d.occurred_at)) AS until_at
    FROM done AS d
    LEFT JOIN disruptions AS o
        ON o.kind IN ('deployment', 'config_change') AND o.event_id <> d.event_id AND coalesce(o.pool = d.pool, true)
    GROUP BY d.event_id, d.pool, d.occurred_at
),
-- what is judged of a workload is judged of a pool where that alone serves it
served AS (
    SELECT workload, CASE WHEN count(DISTINCT pool) = 1 THEN any_value(pool) END AS pool
    FROM goodput
    WHERE slice = 'workload_pool' AND offered > 0 AND window_s = (SELECT window_s FROM base)
        AND window_start >= (SELECT min(from_at) FROM spans) AND window_start < (SELECT max(until_at) FROM spans)
    GROUP BY workload
),
windows AS (
    SELECT
        s.event_id, q.workload, q.evaluator, q.window_start >= s.occurred_at AS is_after,
        q.window_start + to_seconds(q.window_s) AS ended_at, sum(q.judged) AS judged, sum(q.passed) AS passed
    FROM spans AS s
    JOIN quality AS q
        ON q.window_start >= s.from_at AND q.window_start + to_seconds(q.window_s) <= s.until_at
            AND (q.window_start >= s.occurred_at OR q.window_start + to_seconds(q.window_s) <= s.occurred_at)
    JOIN served AS v ON v.workload = q.workload AND coalesce(v.pool = s.pool, s.pool IS NULL)
    WHERE q.window_s = (SELECT window_s FROM base) AND q.evaluator IS NOT NULL AND q.label IS NULL
    GROUP BY s.event_id, s.occurred_at, q.workload, q.evaluator, q.window_start, q.window_s
    -- of labels that nobody drew no share is known
    HAVING count(q.pass_ratio) = count(*)
),
summed AS (
    SELECT
        event_id, workload, evaluator, is_after, max(ended_at) AS ended_at, count(*) AS windows,
        sum(judged)::BIGINT AS judged, sum(passed) / sum(judged) AS ratio,
        -- squares of what windows differ by from the share of all
        sum(passed ** 2) - 2 * ratio * sum(passed * judged) + ratio ** 2 * sum(judged ** 2) AS squares
    FROM windows
    GROUP BY event_id, workload, evaluator, is_after
    HAVING count(*) > 1
),
-- answers of one window may fare alike: as many labels as the windows' spread is worth, and no more than there are
sized AS (
    SELECT *, 1.959963984540054 ** 2 / judged * greatest(1, coalesce(squares * windows / (windows - 1) / nullif(judged * ratio * (1 - ratio), 0), 1)) AS z2
    FROM summed
),
shares AS (
    SELECT
        *,
        greatest(0, (ratio + z2 / 2 - sqrt(z2 * ratio * (1 - ratio) + z2 ** 2 / 4)) / (1 + z2)) AS low,
        least(1, (ratio + z2 / 2 + sqrt(z2 * ratio * (1 - ratio) + z2 ** 2 / 4)) / (1 + z2)) AS high
    FROM sized
)
SELECT
    event_id, b.evaluator || ' of ' || b.workload AS judge,
    b.ratio AS before_ratio, b.low AS before_low, b.high AS before_high, b.judged AS before_judged,
    a.ratio AS after_ratio, a.low AS after_low, a.high AS after_high, a.judged AS after_judged,
    greatest(b.low - a.high, a.low - b.high) > 0 AS is_apart,
    -- the difference, and how far its interval reaches by square-and-add: from 1 on it leaves 0 out
    abs(a.ratio - b.ratio) / nullif(CASE WHEN a.ratio < b.ratio THEN sqrt((b.ratio - b.low) ** 2 + (a.high - a.ratio) ** 2)
        ELSE sqrt((b.high - b.ratio) ** 2 + (a.ratio - a.low) ** 2) END, 0) AS times_reach,
    coalesce(a.ended_at <= (SELECT min(final_until_at) FROM watermark), false) AS is_final
FROM shares AS b
JOIN shares AS a USING (event_id, workload, evaluator)
WHERE NOT b.is_after AND a.is_after
QUALIFY row_number() OVER (PARTITION BY event_id ORDER BY is_apart DESC, times_reach DESC NULLS LAST, b.workload, b.evaluator) = 1
