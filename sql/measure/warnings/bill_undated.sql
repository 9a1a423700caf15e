-- description: Exported bills that another replaced though no date in their paths shows which is the later state, and that bill something else
-- grain: subject
-- reads: source_exports, source_ledger, standing_lines
-- Of exports that reach equally far the one with more lines counts, else the last by its name: a corrected bill may be the other.
WITH billed AS (
    SELECT
        x.export, x.export_date, s.path, s.source_id,
        {'account': l.billing_account, 'sub_account': l.sub_account, 'from_ns': l.billing_period_start_ns} AS period,
        {'service': l.service, 'resource_id': l.resource_id, 'charge_category': l.charge_category} AS charge,
        l.amount_usd AS amount, coalesce(l.currency, 'USD') AS currency, l.period_start_ns, l.period_end_ns
    FROM standing_lines AS l
    JOIN source_exports AS x USING (source_id)
    JOIN source_ledger AS s USING (source_id)
    WHERE l.basis = 'billing' AND l.dialect <> x.reader
),
exports AS (
    SELECT
        export, export_date, period, min(path) AS path, count(*) AS lines, sum(amount::DECIMAL(38, 12)) AS amount, min(currency) AS currency,
        count(DISTINCT currency) = 1 AS has_one_currency, list(DISTINCT source_id) AS sources,
        min(period_start_ns) AS begins_ns, max(period_end_ns) AS reaches_ns
    FROM billed
    GROUP BY ALL
),
charges AS (
    SELECT DISTINCT export, period, charge FROM billed
),
pairs AS (
    SELECT
        e.export, e.period, e.path, e.lines, e.amount, e.currency, e.begins_ns, e.reaches_ns,
        n.path AS last_path, n.export AS last_export, n.amount AS last_amount
    FROM exports AS e
    JOIN exports AS n
        ON n.period = e.period AND n.export_date = e.export_date AND n.reaches_ns = e.reaches_ns AND n.begins_ns < e.reaches_ns
        AND (n.lines, n.export) > (e.lines, e.export) AND n.currency = e.currency AND n.has_one_currency AND e.has_one_currency
        -- of an export that was moved in part, that part is in both
        AND NOT list_has_all(n.sources, e.sources)
    QUALIFY row_number() OVER (PARTITION BY e.export, e.period ORDER BY n.lines DESC, n.export DESC) = 1
),
-- that charge for the same: else they may be parts of one bill, and bill_displaced has them
alike AS (
    SELECT p.*
    FROM pairs AS p
    JOIN charges AS own ON own.export = p.export AND own.period = p.period
    LEFT JOIN charges AS other ON other.export = p.last_export AND other.period = p.period AND other.charge = own.charge
    GROUP BY ALL
    HAVING 2 * count(other.export) >= count(*)
)
SELECT
    'medium' AS severity,
    path AS subject,
    format('{} bills {:,.2f} {}, and {} bills {:,.2f} for the same time; no date in their paths says which is the later state, and {} counts, as it '
            || 'has more lines or the later name. If that is wrong, take it back with `goodput forget`; dates in paths (bill-2026-11-30.csv) say it for good',
        path, sum(amount)::DOUBLE, any_value(currency), min(last_path), sum(last_amount)::DOUBLE, min(last_path)) AS message,
    sum(lines)::BIGINT AS affected,
    CASE WHEN bool_and(currency = 'USD') THEN abs(sum(last_amount) - sum(amount))::DOUBLE END AS amount_usd,
    at_utc(min(begins_ns)) AS first_seen_at,
    at_utc(max(reaches_ns)) AS last_seen_at
FROM alike
GROUP BY path
HAVING abs(sum(last_amount) - sum(amount)) >= 0.01 * abs(sum(amount))
