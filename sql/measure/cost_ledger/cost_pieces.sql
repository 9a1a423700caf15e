-- description: Cost records split at the ledger's windows: the amount in proportion to the period
-- grain: dialect, cost_id, step_s
-- reads: billed_days, cost_records, ledger_options, replica_hours, target_hours
-- unit: level is what the record is for: replica, pool, model, request, or none known to telemetry
-- What is spent on requests is what names one or a session, overhead, and what names a workload, route or tenant and no
-- replica, pool or model. A request or session is looked for among requests that ended from found_from_ns on, before found_until_ns.
-- covers: whether it prices what it is for; what credits, taxes and adjustments charge is added to whatever else does.
-- Bills may call replicas by another name than telemetry does (the pod's uid, or its address). Where nothing shows whose name
-- it is, a record is its pool's, if none of the pool's replicas is known by the name that its bills give it.
WITH timed AS (
    SELECT
        *,
        epoch_us(period_start) * 1000 AS begin_ns,
        epoch_us(period_end) * 1000 AS end_ns
    FROM cost_records
),
stepped AS (
    SELECT
        t.*, o.step_ns, o.lateness_ns, o.reach_h,
        greatest(begin_ns, w.from_ns) // step_ns AS first_step,
        -- a charge of no duration lies where it begins
        least(greatest(end_ns - 1, begin_ns), w.until_ns - 1) // step_ns AS last_step
    FROM timed AS t
    CROSS JOIN ledger_options AS o
    CROSS JOIN (
        SELECT
            greatest(min(epoch_hour) * 3600, any_value(d.from_s)) * 1000000000 AS from_ns,
            least((max(epoch_hour) + 1) * 3600, any_value(d.until_s)) * 1000000000 AS until_ns
        FROM target_hours
        CROSS JOIN billed_days AS d
    ) AS w
    WHERE begin_ns < w.until_ns AND (end_ns > w.from_ns OR begin_ns >= w.from_ns)
),
split AS (
    SELECT *, unnest(range(first_step, last_step + 1)) AS step FROM stepped
),
pools AS (
    -- what stands for a pool of which nothing is seen in the hour names no engine
    SELECT pool, epoch_hour, bool_or(by_engine AND len(names) > 0) AS by_engine
    FROM replica_hours
    WHERE pool IS NOT NULL
    GROUP BY pool, epoch_hour
),
named AS (
    SELECT epoch_hour, name, replica, by_engine
    FROM (SELECT epoch_hour, replica, by_engine, unnest(names) AS name FROM replica_hours)
    QUALIFY row_number() OVER (PARTITION BY epoch_hour, name ORDER BY name = replica DESC, replica) = 1
),
placed AS (
    SELECT
        c.dialect, c.cost_id, c.basis, coalesce(lower(trim(c.charge_category)) NOT IN ('credit', 'tax', 'adjustment'), true) AS covers, c.pool, c.model, c.workload, c.route, c.tenant, c.request_key, c.session_id,
        end_ns - lateness_ns AS found_from_ns,
        end_ns + reach_h * 3600000000000 AS found_until_ns,
        -- bills win over allocations, both over rate cards, for the time that they cover
        CASE c.basis WHEN 'allocation' THEN 2 WHEN 'rate_card' THEN 3 ELSE 1 END AS rank,
        -- where engines of the pool report their names, a name that only callers use is not an engine's
        h.replica IS NOT NULL AND (h.by_engine OR NOT coalesce(p.by_engine, false)) AS is_known,
        p.pool IS NOT NULL AS is_pool_known,
        CASE WHEN is_known THEN h.replica ELSE c.replica END AS replica,
        CASE
            WHEN c.basis = 'overhead' OR coalesce(c.request_key, c.session_id) IS NOT NULL THEN 'request'
            WHEN is_known THEN 'replica'
            WHEN c.replica IS NOT NULL AND (p.pool IS NULL OR bool_or(is_known) OVER (PARTITION BY c.pool, p.epoch_hour))
                THEN 'none'
            WHEN c.pool IS NOT NULL THEN 'pool'
            WHEN c.model IS NOT NULL THEN 'model'
            WHEN coalesce(c.workload, c.route, c.tenant) IS NOT NULL THEN 'request'
            ELSE 'none'
        END AS level,
        step * step_ns // 1000000000 AS step_s,
        greatest(begin_ns, step * step_ns) AS from_ns,
        least(end_ns, (step + 1) * step_ns) AS to_ns,
        CASE WHEN end_ns > begin_ns THEN (to_ns - from_ns) / (end_ns - begin_ns) ELSE 1.0 END AS share,
        amount_usd * share AS usd,
        gpu_s * share AS gpu_s
    FROM split AS c
    LEFT JOIN named AS h ON h.name = c.replica AND h.epoch_hour = step * step_ns // 3600000000000
    LEFT JOIN pools AS p ON p.pool = c.pool AND p.epoch_hour = step * step_ns // 3600000000000
    WHERE step * step_ns // 3600000000000 IN (SELECT epoch_hour FROM target_hours)
)
SELECT
    *,
    -- where nothing shares the cost of a replica, pool or model, only its best basis counts
    level NOT IN ('pool', 'model') AND NOT (level = 'none' AND replica IS NOT NULL)
        -- of a replica whatever pool and model else its records name
        OR rank <= coalesce(min(rank) FILTER (WHERE covers) OVER (
            PARTITION BY level, step_s, CASE WHEN level = 'none' THEN [replica] ELSE [pool, model] END
        ), 3) AS is_best
FROM placed
