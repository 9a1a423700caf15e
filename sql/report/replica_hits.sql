-- description: How much of its input each replica found in its cache, window by window
-- grain: period, replica, at
-- reads: cache_by_replica, shown_periods
-- unit: hit_ratio: of the tokens that were looked up; NULL: the replica looked nothing up
WITH windowed AS (
    SELECT p.period, c.pool, c.model, c.replica, c.window_start AS at, c.window_s, c.hit_ratio, c.looked_up_tokens, c.attempts,
        (sum(c.looked_up_tokens) OVER (PARTITION BY p.period, c.replica))::BIGINT AS looked_up
    FROM cache_by_replica AS c
    JOIN shown_periods AS p ON c.window_s = p.drawn_s AND c.window_start >= p.from_at AND c.window_start < p.until_at
)
SELECT *
FROM windowed
-- more rows than a picture can hold are for a table to show: those that looked up most
QUALIFY dense_rank() OVER (PARTITION BY period ORDER BY looked_up DESC, replica) <= 60
ORDER BY ALL
