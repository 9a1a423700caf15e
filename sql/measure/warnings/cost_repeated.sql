-- description: Costs of one resource and period that several files charge, and all of which count: one cost, perhaps, that counts more than once
-- grain: subject
-- reads: cost_records, source_ledger
-- unit: amount_usd: what is charged beyond the largest of them
-- Exports of a bill replace one another within a sub account; what moved to another, and rows without a cost_id, stand beside the old.
WITH charged AS (
    SELECT
        r.basis, coalesce(r.resource_id, r.replica) AS resource, r.service, r.charge_category, r.period_start, r.period_end,
        r.source, any_value(s.path) AS path, sum_usd(r.amount_usd) AS usd
    FROM cost_records AS r
    JOIN source_ledger AS s ON s.source_id = r.source
    WHERE r.basis <> 'overhead' AND r.amount_usd > 0 AND r.period_end > r.period_start AND r.request_key IS NULL AND r.session_id IS NULL
    GROUP BY r.basis, resource, r.service, r.charge_category, r.period_start, r.period_end, r.source, r.sub_account, r.billing_account
    HAVING resource IS NOT NULL
),
repeated AS (
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
        count(*), min(resource), minute_utc(min(period_start)), minute_utc(min_by(period_end, period_start)), first_path, last_path) AS message,
    count(*) AS affected,
    sum_usd(usd) AS amount_usd,
    min(period_start) AS first_seen_at,
    max(period_end) AS last_seen_at
FROM repeated
GROUP BY first_path, last_path
