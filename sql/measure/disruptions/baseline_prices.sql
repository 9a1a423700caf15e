-- description: What the replica time of each window that prices a disruption would have cost at the prices of that (docs/semantics.md#disruptions)
-- grain: event_id, start_s
-- reads: disrupted_windows, disrupting_events, priced_baselines, window_expenses
-- unit: usd: more than it cost; NULL where prices cannot be told from use
WITH windows AS (
    SELECT event_id, pool, start_s, windows FROM disrupted_windows JOIN disrupting_events USING (event_id)
),
own AS (
    SELECT
        w.event_id, x.of_pool, x.replica, any_value(w.windows) AS windows,
        sum_usd(x.own_usd) AS own_usd, sum_usd(x.pool_usd) AS pool_usd, sum_steady(x.gpu_s) AS gpu_s
    FROM windows AS w
    JOIN window_expenses AS x ON x.pool IS NOT DISTINCT FROM w.pool AND x.start_s = w.start_s
    GROUP BY ALL
),
totals AS (
    SELECT
        event_id, any_value(windows) AS windows,
        sum_usd(own_usd) AS own_usd, sum_usd(pool_usd) AS pool_usd, sum_steady(gpu_s) AS gpu_s
    FROM own
    GROUP BY event_id
),
usual AS (
    SELECT b.event_id, b.start_s, expenses(x, o.own_usd, o.gpu_s, {pool: x.of_pool, replica: x.replica}) AS spent
    FROM priced_baselines AS b
    JOIN disrupting_events AS e USING (event_id)
    JOIN window_expenses AS x ON x.pool IS NOT DISTINCT FROM e.pool AND x.start_s = b.start_s
    LEFT JOIN own AS o ON o.event_id = b.event_id AND o.of_pool = x.of_pool AND o.replica = x.replica
    GROUP BY ALL
)
SELECT u.event_id, u.start_s, dearer(u.spent, t.own_usd, t.pool_usd, t.gpu_s, t.windows) AS usd
FROM usual AS u
LEFT JOIN totals AS t USING (event_id)
