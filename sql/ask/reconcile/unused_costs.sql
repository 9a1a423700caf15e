-- description: Lines of costs that are in no number, in one line by reason
-- grain: one row at most
-- reads: unused_cost_lines
WITH unused AS (
    SELECT reason, currency, count(*) AS lines, sum(amount::DECIMAL(38, 12))::DOUBLE AS amount
    FROM unused_cost_lines
    WHERE period_end > coalesce(getvariable('reconciled_from')::TIMESTAMPTZ, '-infinity'::TIMESTAMPTZ)
        AND period_start < coalesce(getvariable('reconciled_until')::TIMESTAMPTZ, 'infinity'::TIMESTAMPTZ)
    GROUP BY reason, currency
)
SELECT
    'Lines that are in no number: '
        || string_agg(format('{:,} {} with {:,.2f} {}', lines, reason, amount, currency), '; ' ORDER BY reason, currency)
        || '. Relation unused_cost_lines has each with what counts instead' AS line
FROM unused
HAVING count(*) > 0
