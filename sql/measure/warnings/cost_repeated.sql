-- description: Costs of one resource and period that several files charge, and all of which count: one cost, perhaps, that counts more than once
-- grain: subject
-- reads: cost_records, source_ledger
-- unit: amount_usd: what is charged beyond the largest of them
-- Exports of a bill replace one another within a sub account, day by day; what moved to another, rows without a cost_id, and what a
-- line that began the day before charges of the day that another export has, stand beside it.
WITH named AS (
    SELECT
        *,
        -- a row without a cost_id has a hash of it, and is whatever it names; one with it is told apart by that
        CASE WHEN regexp_full_match(cost_id, '[0-9a-f]{32}(-[0-9]+)?')
            THEN coalesce(resource_id, nullif(concat_ws(', ', request_key, session_id, replica, pool, model, workload, route, tenant), ''), 'all work')
            WHEN basis <> 'overhead' AND request_key IS NULL AND session_id IS NULL THEN coalesce(resource_id, replica)
        END AS resource
    FROM cost_records
    WHERE amount_usd > 0 AND period_end > period_start
),
charged AS (
    SELECT
        r.basis, r.resource, r.service, r.charge_category, r.period_start, r.period_end,
        r.source, {'billing_account': r.billing_account, 'sub_account': r.sub_account} AS account,
        any_value(s.path) AS path, sum_usd(r.amount_usd) AS usd
    FROM named AS r
    JOIN source_ledger AS s ON s.source_id = r.source
    WHERE r.resource IS NOT NULL
    GROUP BY r.basis, r.resource, r.service, r.charge_category, r.period_start, r.period_end, r.source, account
),
-- dollars of the hours that both charge, at the rate of the cheaper
reaching AS (
    SELECT
        a.resource, b.period_start, least(a.period_end, b.period_end) AS period_end,
        least(a.path, b.path) AS first_path, greatest(a.path, b.path) AS last_path,
        epoch(least(a.period_end, b.period_end) - b.period_start)
            * least(a.usd / epoch(a.period_end - a.period_start), b.usd / epoch(b.period_end - b.period_start)) AS usd
    FROM charged AS a
    JOIN charged AS b
        ON b.basis = a.basis AND b.resource = a.resource AND b.service IS NOT DISTINCT FROM a.service
        AND b.charge_category IS NOT DISTINCT FROM a.charge_category AND b.account = a.account
        AND epoch_us(b.period_start) // 86400000000 = (epoch_us(a.period_end) - 1) // 86400000000
        AND b.period_start < a.period_end AND b.source <> a.source
    WHERE a.basis = 'billing' AND epoch_us(a.period_start) // 86400000000 < epoch_us(b.period_start) // 86400000000
),
repeated AS (
    FROM reaching
    UNION ALL BY NAME
    SELECT
        resource, period_start, period_end,
        min(path) AS first_path, max(path) AS last_path, sum_usd(usd) - max(usd) AS usd
    FROM charged
    GROUP BY basis, resource, service, charge_category, period_start, period_end
    HAVING count(DISTINCT source) > 1
)
SELECT
    'high' AS severity,
    format('{} and {}', first_path, last_path) AS subject,
    format('{:,} cost(s), such as of {} from {} to {}, are charged in {} and in {}, and count in both. If they are one, let the later file '
            || 'overwrite the earlier one, map a `cost_id`, or take one back with `goodput forget`',
        count(*), min(resource), minute_utc(min(period_start)), minute_utc(min_by(period_end, (period_start, period_end))), first_path, last_path) AS message,
    count(*) AS affected,
    sum_usd(usd) AS amount_usd,
    min(period_start) AS first_seen_at,
    max(period_end) AS last_seen_at
FROM repeated
GROUP BY first_path, last_path
