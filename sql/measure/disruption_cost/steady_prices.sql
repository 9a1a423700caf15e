-- description: What the replica time of each steady window that prices a disruption would have cost at the prices of that (docs/semantics.md#disruptions)
-- grain: kind (NULL: all kinds), pool, stretch, start_s
-- reads: kind_windows, steady_likes, window_expenses
-- unit: as in `baseline_prices`
WITH windows AS (
    SELECT kind, pool, stretch, start_s, count(*) OVER (PARTITION BY kind, pool, stretch) AS windows
    FROM kind_windows
    WHERE NOT is_steady
),
own AS (
    SELECT
        w.kind, w.pool, w.stretch, x.replica, any_value(w.windows) AS windows,
        sum_usd(x.own_usd) AS own_usd, sum_usd(x.pool_usd) AS pool_usd, sum_steady(x.gpu_s) AS gpu_s
    FROM windows AS w
    JOIN window_expenses AS x ON x.pool = w.pool AND x.start_s = w.start_s
    GROUP BY ALL
),
totals AS (
    SELECT
        kind, pool, stretch, any_value(windows) AS windows,
        sum_usd(own_usd) AS own_usd, sum_usd(pool_usd) AS pool_usd, sum_steady(gpu_s) AS gpu_s
    FROM own
    GROUP BY ALL
),
usual AS (
    SELECT s.kind, s.pool, s.stretch, s.start_s, expenses(x, o.own_usd, o.gpu_s, {pool: x.of_pool, replica: x.replica}) AS spent
    FROM steady_likes AS s
    JOIN window_expenses AS x ON x.pool = s.pool AND x.start_s = s.start_s
    LEFT JOIN own AS o
        ON o.kind IS NOT DISTINCT FROM s.kind AND o.pool = s.pool AND o.stretch = s.stretch AND o.replica = x.replica
    GROUP BY ALL
)
SELECT
    u.kind, u.pool, u.stretch, u.start_s, dearer(u.spent, t.own_usd, t.pool_usd, t.gpu_s, t.windows) AS usd
FROM usual AS u
LEFT JOIN totals AS t ON t.kind IS NOT DISTINCT FROM u.kind AND t.pool = u.pool AND t.stretch = u.stretch
