-- description: How far invoices of the days asked for are from what the use cost, in one line
-- grain: one row at most
-- reads: cost_records
-- unit: whole records that lie in these days, also those that reach beyond them
WITH charged AS (
    SELECT sum_usd(amount_usd) AS used_usd, sum_usd(coalesce(billed_usd, amount_usd)) AS invoiced_usd
    FROM cost_records
    WHERE basis = 'billing' AND period_end > coalesce(getvariable('reconciled_from')::TIMESTAMPTZ, '-infinity'::TIMESTAMPTZ)
        AND period_start < coalesce(getvariable('reconciled_until')::TIMESTAMPTZ, 'infinity'::TIMESTAMPTZ)
)
SELECT
    format('Billed is what use cost (effective cost): these records invoice {:,.2f} and their use cost {:,.2f}, as what a commitment covers is '
        || 'invoiced with the commitment', invoiced_usd, used_usd) AS line
FROM charged
WHERE abs(invoiced_usd - used_usd) >= 0.005
