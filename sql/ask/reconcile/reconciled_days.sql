-- description: What `reconciliation` says of the days that are asked for
-- grain: as reconciliation
-- reads: reconciliation
-- kind: view
-- unit: days by the variables reconciled_from and reconciled_until
FROM reconciliation
WHERE day_start >= coalesce(getvariable('reconciled_from')::TIMESTAMPTZ, '-infinity'::TIMESTAMPTZ)
    AND day_start < coalesce(getvariable('reconciled_until')::TIMESTAMPTZ, 'infinity'::TIMESTAMPTZ)
