-- description: Warning: settings that change what a number means and that not all lakes have alike, with what they are in which lakes
-- grain: subject
-- reads: settings
-- Windows and slices have warnings of their own, and another latency_origin is refused as other gates are. What a lake has no row
-- of, such as a currency or a workload, does not concern it.
WITH values_of_lakes AS (
    SELECT setting, value, string_agg(lake, ', ' ORDER BY lake) AS lakes, count(*) AS holding
    FROM settings
    WHERE setting NOT IN ('windows_s', 'slices.by', 'latency_origin')
    GROUP BY setting, value
)
SELECT
    'setting_unlike' AS kind, 'medium' AS severity, setting AS subject,
    format('{} is {}. {}, so sums in federated_goodput are of unlike things', setting,
        string_agg(coalesce(nullif(value, ''), 'not set') || ' in ' || lakes, '; ' ORDER BY lakes),
        CASE
            WHEN setting LIKE 'costs.currencies.%' THEN 'A dollar of a line in that currency is worth something else in each'
            WHEN setting LIKE 'workloads.%.match' THEN 'The workload selects other requests in each'
            WHEN setting LIKE 'workloads.%.quality.%' THEN 'Other judgements pass answers of the workload in each'
            WHEN setting LIKE 'slices.max_%' THEN 'Another number of names counts apart in each, and the rest as (other)'
            WHEN setting IN ('work', 'costs.step_s', 'staleness_s') THEN 'Costs are shared among requests by another rule in each'
            ELSE 'Records are put together, and windows are final, after another time in each'
        END) AS message,
    sum(holding)::BIGINT AS affected, (SELECT count(DISTINCT lake) FROM settings) AS total
FROM values_of_lakes
GROUP BY setting
HAVING count(*) > 1
ORDER BY setting
