-- description: What could be changed, and what at most, and at least, it would gain: accepted answers, and dollars off the bill
-- grain: period, kind, workload, pool, name, occurred_at
-- reads: goodput, load_curves, operations_done, parts_apart, replica_paces, shown_periods, spare_replicas, waste
-- unit: answers, low_answers, high_answers: accepted ones more, answers NULL where only the most is known; usd, low_usd, high_usd: off the bill; spare_s: how long replicas were spare
-- unit: low_worth_usd, worth_usd, high_worth_usd: of both, of late and rejected answers what was spent on them, of operations what they cost, of others what as many requests of the workload, or pool, cost by themselves; times_a_period: what goes on does as much so many times in as long as the period
-- unit: basis: compared (another did better at the same time, or before), computed (from a limit that was measured), chance (as compared, and may be chance), bound (what one cause alone took; what of it can be had back is not known)
-- What there is evidence for comes first, by what it gains at least; then what may be chance, and what bounds alone tell of. They overlap: what one mends another cannot.
WITH counted AS (
    SELECT
        p.period, g.slice, g.workload, g.pool,
        sum(g.queue_late) AS queue, sum(g.retries_late + g.over_budget) AS tries, sum(g.prefill_late) AS prompts,
        sum(g.work_late) AS work, sum(g.failed) AS failed, sum(g.unevaluable) AS unmeasured,
        -- what passes all other gates, and what of it quality lets through, as far as labels tell
        sum(g.accepted + g.rejected + g.unlabelled) AS passing,
        sum(g.goodput_ci_low_rps * g.window_s) AS least, sum(g.goodput_ci_high_rps * g.window_s) AS most,
        -- idle time and shared cost are not in it: more requests would bring no more of these
        CASE WHEN count(*) = count(g.direct_cost_usd) THEN sum(g.direct_cost_usd) / nullif(sum(g.offered), 0) END AS each_usd
    FROM goodput AS g
    JOIN shown_periods AS p ON g.window_s = p.whole_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
    WHERE g.slice IN ('workload', 'pool')
    GROUP BY p.period, g.slice, g.workload, g.pool
),
serving AS (
    SELECT DISTINCT p.period, g.workload, g.pool
    FROM goodput AS g
    JOIN shown_periods AS p ON g.window_s = p.whole_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
    WHERE g.slice = 'workload_pool' AND g.offered > 0
),
-- the one workload of a pool, and the one pool of a workload
owners AS (
    SELECT period, pool, CASE WHEN count(*) = 1 THEN any_value(workload) END AS workload FROM serving GROUP BY period, pool
),
homes AS (
    SELECT period, workload, CASE WHEN count(*) = 1 THEN any_value(pool) END AS pool FROM serving GROUP BY period, workload
),
lost AS (
    UNPIVOT (
        SELECT period, workload, queue, tries, prompts, work, failed, unmeasured, passing - least AS quality, least(1, most / nullif(passing, 0)) AS pass_ratio
        FROM counted
        WHERE slice = 'workload'
    ) ON queue, tries, prompts, work, failed, unmeasured, quality INTO NAME kind VALUE answers
),
spent AS (
    UNPIVOT (
        SELECT
            p.period, w.workload, sum(w.queue_late_usd) AS queue, sum(w.prefill_late_usd) AS prompts, sum(w.work_late_usd) AS work,
            sum(w.retries_late_usd) + coalesce(sum(w.usd) FILTER (WHERE w.bucket = 'over_budget'), 0) AS tries,
            sum(coalesce(w.ci_high_usd, w.usd)) FILTER (WHERE w.bucket = 'rejected') AS quality
        FROM waste AS w
        JOIN shown_periods AS p ON w.window_s = p.whole_s AND w.window_start >= p.from_at AND w.window_start < p.until_at
        WHERE w.slice = 'workload'
        GROUP BY p.period, w.workload
    ) ON queue, prompts, work, tries, quality INTO NAME kind VALUE usd
),
bounds AS (
    SELECT
        l.period, l.kind, l.workload, h.pool, 'workload' AS of_slice, NULL::VARCHAR AS name, NULL::VARCHAR AS other, NULL::TIMESTAMPTZ AS occurred_at,
        NULL::DOUBLE AS answers, 0 AS low_answers,
        -- what would come in time still has to be good
        l.answers * CASE WHEN l.kind = 'quality' THEN 1 ELSE coalesce(l.pass_ratio, 1) END AS high_answers,
        NULL::DOUBLE AS usd, NULL::DOUBLE AS low_usd, NULL::DOUBLE AS high_usd, NULL::DOUBLE AS spare_s,
        NULL::DOUBLE AS cost_usd, s.usd AS high_cost_usd, NULL::DOUBLE AS times_a_period, 'bound' AS basis
    FROM lost AS l
    LEFT JOIN spent AS s USING (period, workload, kind)
    LEFT JOIN homes AS h USING (period, workload)
    WHERE l.answers >= 1
),
apart AS (
    SELECT
        a.period, a.divided_by AS kind, a.workload, h.pool, 'workload' AS of_slice,
        CASE WHEN a.gap < 0 THEN a.name ELSE a.beside END AS name, CASE WHEN a.gap < 0 THEN a.beside ELSE a.name END AS other,
        abs(a.gap) * CASE WHEN a.gap < 0 THEN a.offered ELSE a.other_offered END AS answers,
        greatest(0, abs(a.gap) - a.gap_half) * CASE WHEN a.gap < 0 THEN a.offered ELSE a.other_offered END AS low_answers,
        (abs(a.gap) + a.gap_half) * CASE WHEN a.gap < 0 THEN a.offered ELSE a.other_offered END AS high_answers,
        'compared' AS basis
    FROM parts_apart AS a
    LEFT JOIN homes AS h USING (period, workload)
    -- of so many questions at once (Bonferroni): shares and prices of all pairs of the period
    QUALIFY a.p * 2 * count(*) OVER (PARTITION BY a.period) < 0.05
),
-- a replica may serve several models
paced AS (
    SELECT
        r.period, r.pool, r.replica, r.at AS paced_at, bool_or(r.is_slow) AS is_slow,
        max(r.slow_answers) AS slow_answers, max(r.others_slow_answers) AS others_slow_answers, sum(r.attempts_ratio) AS attempts_ratio
    FROM replica_paces AS r
    GROUP BY ALL
),
-- counts vary as Poisson's do
strayed AS (
    SELECT
        period, pool, replica, min(paced_at) FILTER (WHERE is_slow) AS occurred_at, arg_max(is_slow, paced_at) AS is_slow_still,
        sum(slow_answers - others_slow_answers * attempts_ratio) FILTER (WHERE is_slow) AS answers,
        1.959963984540054 * sqrt(sum(slow_answers + others_slow_answers * attempts_ratio ** 2) FILTER (WHERE is_slow)) AS reach
    FROM paced
    GROUP BY period, pool, replica
),
-- of one that is quick again nothing can be had back; its like may come
slower AS (
    SELECT
        s.period, CASE WHEN s.is_slow_still THEN 'replica' ELSE 'replicas' END AS kind, o.workload, s.pool, 'pool' AS of_slice,
        s.replica AS name, s.occurred_at, s.answers,
        CASE WHEN s.is_slow_still THEN greatest(0, s.answers - s.reach) ELSE 0 END AS low_answers, s.answers + s.reach AS high_answers,
        CASE WHEN s.is_slow_still THEN 'compared' ELSE 'bound' END AS basis
    FROM strayed AS s
    LEFT JOIN owners AS o USING (period, pool)
    WHERE s.answers >= 1
),
spare AS (
    SELECT
        s.period, 'spare' AS kind, o.workload, s.pool, 'pool' AS of_slice,
        -- without a knee the most alone is known
        CASE WHEN bool_and(s.is_by_knee IS true) THEN sum(s.spare_usd) END AS usd, sum(s.spare_low_usd) AS low_usd, sum(s.spare_high_usd) AS high_usd,
        count(*) FILTER (WHERE s.spare_usd > 0) * any_value(p.drawn_s)::DOUBLE AS spare_s,
        CASE WHEN bool_and(s.is_by_knee IS true) THEN 'computed' ELSE 'bound' END AS basis
    FROM spare_replicas AS s
    JOIN shown_periods AS p USING (period)
    LEFT JOIN owners AS o USING (period, pool)
    GROUP BY s.period, o.workload, s.pool
    HAVING sum(s.spare_usd) > 0
),
-- what an operation cost may be cut by doing it otherwise; by how much nobody knows, and of several of a kind the dearest stands for all
done AS (
    SELECT
        d.period, 'operation' AS kind, o.workload, d.pool, 'pool' AS of_slice, d.kind AS name, d.at AS occurred_at,
        d.lost_accepted AS answers, 0 AS low_answers, d.lost_accepted_ci_high AS high_answers,
        d.excess_cost_usd AS cost_usd, d.high_usd AS high_cost_usd, 'bound' AS basis
    FROM operations_done AS d
    LEFT JOIN owners AS o USING (period, pool)
    WHERE d.lost_accepted_ci_low > 0
    QUALIFY row_number() OVER (PARTITION BY d.period, d.pool, d.kind ORDER BY d.lost_accepted DESC, d.at) = 1
),
since AS (
    SELECT d.period, d.event_id, sum(g.accepted + g.rejected + g.unlabelled) AS passing
    FROM operations_done AS d
    JOIN shown_periods AS p USING (period)
    JOIN goodput AS g ON g.slice = 'pool' AND g.pool = d.pool AND g.window_s = p.drawn_s AND g.window_start >= d.at AND g.window_start < p.until_at
    WHERE d.after_ratio < d.before_ratio
    GROUP BY d.period, d.event_id
),
worse AS (
    SELECT
        d.period, 'revision' AS kind, o.workload, d.pool, 'pool' AS of_slice, d.kind AS name, d.judge AS other, d.at AS occurred_at,
        (d.before_ratio - d.after_ratio) * s.passing AS answers,
        greatest(0, d.before_ratio - d.after_ratio - sqrt((d.before_ratio - d.before_low) ** 2 + (d.after_high - d.after_ratio) ** 2)) * s.passing AS low_answers,
        (d.before_ratio - d.after_ratio + sqrt((d.before_high - d.before_ratio) ** 2 + (d.after_ratio - d.after_low) ** 2)) * s.passing AS high_answers,
        -- what it does to answers goes on: in as long as the period, of as many as that had
        c.passing / s.passing AS times_a_period,
        CASE WHEN low_answers > 0 THEN 'compared' ELSE 'chance' END AS basis
    FROM operations_done AS d
    JOIN since AS s USING (period, event_id)
    JOIN counted AS c ON c.period = d.period AND c.slice = 'pool' AND c.pool = d.pool
    LEFT JOIN owners AS o ON o.period = d.period AND o.pool = d.pool
    WHERE s.passing > 0
    QUALIFY row_number() OVER (PARTITION BY d.period, d.pool ORDER BY d.times_reach DESC, d.at) = 1
),
all_of_them AS (
    FROM bounds UNION ALL BY NAME FROM apart UNION ALL BY NAME FROM slower UNION ALL BY NAME FROM spare
    UNION ALL BY NAME FROM done UNION ALL BY NAME FROM worse
),
-- more replicas for a queue: what one costs an hour
hourly AS (
    SELECT pool, any_value(replica_hour_usd) AS replica_hour_usd FROM load_curves WHERE divided_by = 'pool' GROUP BY pool
),
valued AS (
    SELECT
        a.* EXCLUDE (cost_usd, high_cost_usd, of_slice), h.replica_hour_usd,
        CASE WHEN a.kind = 'spare' THEN a.low_usd ELSE a.low_answers * c.each_usd END AS low_worth_usd,
        CASE WHEN a.kind = 'spare' THEN a.usd ELSE coalesce(a.cost_usd, a.answers * c.each_usd) END AS worth_usd,
        CASE WHEN a.kind = 'spare' THEN a.high_usd ELSE coalesce(a.high_cost_usd, a.high_answers * c.each_usd) END AS high_worth_usd
    FROM all_of_them AS a
    LEFT JOIN counted AS c ON c.period = a.period AND c.slice = a.of_slice AND CASE a.of_slice WHEN 'pool' THEN c.pool = a.pool ELSE c.workload = a.workload END
    LEFT JOIN hourly AS h ON h.pool = a.pool
)
SELECT
    *,
    CASE kind
        WHEN 'queue' THEN format('{}: shorter queues', workload)
        WHEN 'tries' THEN format('{}: fewer tries before an answer', workload)
        WHEN 'prompts' THEN format('{}: prompts in a cache, or shorter', workload)
        WHEN 'work' THEN format('{}: faster answers', workload)
        WHEN 'failed' THEN format('{}: fewer failures', workload)
        WHEN 'unmeasured' THEN format('{}: measure what its gates need', workload)
        WHEN 'quality' THEN format('{}: better answers', workload)
        WHEN 'replica' THEN format('{}: as fast as its pool', name)
        WHEN 'replicas' THEN format('{}: route around slow replicas', pool)
        WHEN 'spare' THEN format('{}: fewer replicas off its peak', pool)
        WHEN 'operation' THEN format('{}: a gentler {}', coalesce(pool, 'fleet'), replace(name, '_', ' '))
        WHEN 'revision' THEN format('{}: undo the {}', coalesce(pool, 'fleet'), replace(name, '_', ' '))
        ELSE format('{}: {} {} for {}', workload, kind, other, name)
    END AS action,
    row_number() OVER in_order AS place
FROM valued
WINDOW in_order AS (
    PARTITION BY period ORDER BY list_position(['chance', 'bound'], basis) NULLS FIRST, low_worth_usd DESC NULLS LAST, CASE WHEN basis <> 'bound' THEN worth_usd END DESC NULLS LAST,
    high_worth_usd DESC NULLS LAST, low_answers DESC NULLS LAST, high_answers DESC NULLS LAST, action, occurred_at)
QUALIFY place <= 20
ORDER BY period, place
