-- description: Files of bills with charges that a later export replaced without charging for the same resources throughout: two bills, perhaps, where one was meant
-- grain: subject
-- reads: cost_records, source_files, source_ledger, unused_cost_lines
-- What covers a line is a line of its own account and kind: another account's is no later state of it, and a credit charges for no use.
WITH lines AS (
    SELECT
        * EXCLUDE (dialect, billing_account, sub_account, service, charge_category),
        {
            'dialect': dialect, 'billing_account': billing_account, 'sub_account': sub_account, 'service': service,
            'resource_id': resource_id, 'charge_category': charge_category, 'is_credit': amount < 0
        } AS charge
    FROM (
        SELECT
            dialect, billing_account, sub_account, service, resource_id, charge_category, amount_usd AS amount, period_start, period_end
        FROM cost_records
        UNION ALL BY NAME
        SELECT * EXCLUDE (line, position, cost_id, basis) FROM unused_cost_lines
    )
),
charged AS (
    SELECT DISTINCT charge, period_start, period_end FROM lines WHERE reason IS DISTINCT FROM 'superseded'
),
begun AS (
    SELECT
        *,
        coalesce(period_start > max(period_end) OVER (
            PARTITION BY charge ORDER BY period_start, period_end
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), true) AS is_first
    FROM charged
),
numbered AS (
    SELECT *, sum(is_first::INT) OVER (PARTITION BY charge ORDER BY period_start, period_end) AS span FROM begun
),
-- without a gap between
charged_spans AS (
    SELECT charge, span, min(period_start) AS from_at, max(period_end) AS until_at
    FROM numbered
    GROUP BY ALL
),
replaced AS (
    SELECT l.*, s.landing, s.path, s.ingested_ns, n.path AS last_path
    FROM lines AS l
    JOIN source_ledger AS s ON s.source_id = l.source
    JOIN source_ledger AS n ON n.source_id = l.superseded_by_source
    WHERE l.reason = 'superseded' AND l.superseded_by_line IS NULL
),
-- what one path held one after the other, compressed or not
versions AS (
    SELECT DISTINCT o.source_id AS source, n.source_id AS superseded_by_source, true AS is_version
    FROM source_files AS o
    JOIN source_files AS n USING (landing, plain_path)
    WHERE o.source_id IN (SELECT source FROM replaced)
),
displaced AS (
    SELECT
        l.*,
        NOT EXISTS (
            FROM charged_spans AS c
            WHERE c.charge = l.charge AND c.from_at <= l.period_start AND c.until_at >= l.period_end
        )
        -- without resources nothing but the dates of two files shows that one is the later state of the other
        OR (resource_id IS NULL AND v.is_version IS NULL AND path_date(path) = path_date(last_path)) AS is_gone
    FROM replaced AS l
    LEFT JOIN versions AS v USING (source, superseded_by_source)
    -- a path may have held several versions of one charge: only the last of them counted until it was replaced
    QUALIFY source = first_value(source) OVER (PARTITION BY landing, path, charge, period_start, period_end ORDER BY ingested_ns DESC, source)
),
named AS (
    SELECT
        path AS subject,
        format('{:,.2f} {} of {:,} line(s) in {} are in no number: {}, and nothing shows that it charges for the same use. If both '
                || 'are parts of one bill, put them in one folder as files that differ in a part number (part-1, part-2)',
            sum(amount::DECIMAL(38, 12)) FILTER (WHERE is_gone)::DOUBLE, any_value(currency), count(*) FILTER (WHERE is_gone), path,
            CASE WHEN min(last_path) = path AND max(last_path) = path THEN 'what that path held later replaces them'
                ELSE min(last_path) || ' replaces them' END) AS message,
        count(*) FILTER (WHERE is_gone) AS affected,
        count(*) AS total,
        sum(abs(amount)) FILTER (WHERE is_gone) AS gone,
        sum(amount::DECIMAL(38, 12)) FILTER (WHERE is_gone AND currency = 'USD')::DOUBLE AS amount_usd,
        min(period_start) FILTER (WHERE is_gone) AS first_seen_at,
        max(period_end) FILTER (WHERE is_gone) AS last_seen_at
    FROM displaced
    GROUP BY path
    -- charges and credits that cancel each other are gone none the less
    HAVING sum(abs(amount)) FILTER (WHERE is_gone) >= 0.01 * sum(abs(amount))
)
SELECT
    -- beside what counts at that time, whatever its currency
    CASE WHEN gone >= 0.1 * coalesce((
        SELECT sum(abs(c.amount_usd)) FROM cost_records AS c WHERE c.period_start < n.last_seen_at AND c.period_end > n.first_seen_at
    ), 0) THEN 'high' ELSE 'medium' END AS severity,
    n.* EXCLUDE (gone)
FROM named AS n
