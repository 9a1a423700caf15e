-- description: Stretches in which each replica had attempts in flight, of the time that is measured and before it as far as readings are held together
-- grain: replica, from_ns
-- reads: ledger_options, measured_range, replica_life
SELECT replica, greatest(from_ns, since_ns) AS from_ns, least(until_ns, end_ns) AS until_ns
FROM replica_life
CROSS JOIN (
    SELECT from_s * 1000000000 - 2 * staleness_ns AS since_ns, until_s * 1000000000 AS end_ns
    FROM measured_range CROSS JOIN ledger_options
)
WHERE state = 'busy' AND until_ns > since_ns AND from_ns < end_ns
