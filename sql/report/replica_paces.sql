-- description: How long each replica took for a token of its answers, beside the others of its pool and model in the same window, and what it cost where it was slow
-- grain: period, replica, at
-- reads: cost_ledger, replica_windows, shown_periods
-- unit: others_s: the median of the other replicas' own medians, each of at least 20 answers; times: p50_tpot_s by it; is_slow: at least 1.25 times
-- unit: slow_usd, others_slow_usd: where it is slow, US dollars of answers there that came too late, and those of as many attempts at the others of its pool; slow_answers, others_slow_answers: how many there, and at all the others, of which it had attempts_ratio times the attempts
WITH ranked AS (
    SELECT
        p.period, r.pool, r.model, r.replica, r.window_start AS began, r.window_s, r.p50_tpot_s, r.n_tpot, r.attempts,
        row_number() OVER (PARTITION BY p.period, r.pool, r.model, r.window_start ORDER BY r.p50_tpot_s, r.replica) AS nth,
        count(*) OVER (PARTITION BY p.period, r.pool, r.model, r.window_start) AS n
    FROM replica_windows AS r
    JOIN shown_periods AS p ON r.window_s = p.drawn_s AND r.window_start >= p.from_at AND r.window_start < p.until_at
    -- the median of fewer is chance: of a hundred alike pools with 10 to 20 answers a window four had one that looked slow
    WHERE r.pool IS NOT NULL AND r.n_tpot >= 20
),
-- the two in the middle of the others, which are one where the others are odd in number
middles AS (
    SELECT *, unnest([n // 2 + (n // 2 >= nth)::INTEGER, (n + 1) // 2 + ((n + 1) // 2 >= nth)::INTEGER]) AS other_nth
    FROM ranked
    WHERE n > 1
),
paced AS (
    SELECT
        m.period, m.pool, m.model, m.replica, m.began, m.window_s, m.p50_tpot_s, m.n_tpot, m.attempts,
        avg(o.p50_tpot_s) AS others_s, m.p50_tpot_s / nullif(avg(o.p50_tpot_s), 0) AS times, coalesce(times >= 1.25, false) AS is_slow
    FROM middles AS m
    JOIN ranked AS o
        ON o.period = m.period AND o.pool = m.pool AND o.model IS NOT DISTINCT FROM m.model AND o.began = m.began AND o.nth = m.other_nth
    GROUP BY m.period, m.pool, m.model, m.replica, m.began, m.window_s, m.p50_tpot_s, m.n_tpot, m.attempts
),
late AS (
    SELECT s.period, s.pool, s.began, c.replica, sum(c.usd) AS usd, count(DISTINCT c.attempt_id) AS answers
    FROM (SELECT DISTINCT period, pool, began, window_s FROM paced WHERE is_slow) AS s
    JOIN cost_ledger AS c ON c.pool = s.pool AND c.window_start >= s.began AND c.window_start < s.began + to_seconds(s.window_s)
    WHERE c.bucket = 'slow'
    GROUP BY ALL
),
spent AS (
    SELECT
        p.period, p.replica, p.began, coalesce(sum(l.usd) FILTER (WHERE l.replica = p.replica), 0) AS slow_usd,
        coalesce(sum(l.usd) FILTER (WHERE l.replica <> p.replica), 0) AS others_usd,
        coalesce(sum(l.answers) FILTER (WHERE l.replica = p.replica), 0)::BIGINT AS slow_answers,
        coalesce(sum(l.answers) FILTER (WHERE l.replica <> p.replica), 0)::BIGINT AS others_slow_answers,
        (SELECT sum(r.attempts) FROM replica_windows AS r WHERE r.window_s = p.window_s AND r.window_start = p.began AND r.pool = p.pool AND r.replica <> p.replica) AS others_attempts
    FROM paced AS p
    JOIN late AS l USING (period, pool, began)
    WHERE p.is_slow
    GROUP BY p.period, p.replica, p.began, p.window_s, p.pool
)
SELECT
    p.period, p.pool, p.model, p.replica, p.began AS at, p.window_s, p.p50_tpot_s, p.n_tpot, p.others_s, p.times, p.is_slow,
    s.slow_usd, s.others_usd * p.attempts / nullif(s.others_attempts, 0) AS others_slow_usd,
    s.slow_answers, s.others_slow_answers, p.attempts / nullif(s.others_attempts, 0) AS attempts_ratio
FROM paced AS p
LEFT JOIN spent AS s USING (period, replica, began)
-- more rows than a picture can hold are for a table to show: the replicas that were furthest from the others
WHERE p.replica IN (
    SELECT f.replica
    FROM (SELECT period, replica, max(greatest(times, 1 / nullif(times, 0))) AS furthest FROM paced GROUP BY period, replica) AS f
    WHERE f.period = p.period
    QUALIFY row_number() OVER (PARTITION BY f.period ORDER BY f.furthest DESC, f.replica) <= 60
)
ORDER BY ALL
