-- description: Where the engine of a replica returned as another version: between the readings before and after
-- grain: replica, sampled_ns
-- reads: ledger_options, replica_samples
-- It starts new series, which no reset shows. Two feeds that call one engine by two versions in turn renew nothing: a version
-- stays for a reading more, as the one before it had, or is the first or last.
WITH versions AS (
    SELECT
        *,
        lag(version) OVER readings AS version_before, lag(sampled_ns) OVER readings AS before_ns,
        lag(version, 2) OVER readings AS version_earlier, lead(version) OVER readings AS version_after
    FROM (SELECT DISTINCT replica, sampled_ns, version FROM replica_samples WHERE layer = 'engine' AND version IS NOT NULL)
    WINDOW readings AS (PARTITION BY replica ORDER BY sampled_ns, version)
)
SELECT v.replica, v.before_ns, v.sampled_ns
FROM versions AS v
CROSS JOIN ledger_options AS o
WHERE v.version <> v.version_before AND v.sampled_ns > v.before_ns AND v.sampled_ns - v.before_ns <= o.staleness_ns
    AND coalesce(v.version_earlier = v.version_before, true) AND coalesce(v.version_after = v.version, true)
