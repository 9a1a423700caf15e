-- description: How many more windows without a label count as accepted, which is all that may pass, than by the share that passes in the other windows of the period (docs/semantics.md#of-several-windows)
-- grain: period, choice
-- reads: period_windows, workloads
-- unit: excess: requests, or what the workload counts; excess_tokens: output tokens
WITH rules AS (
    SELECT workload, unlabelled = 'estimate' AS is_estimated FROM workloads WHERE gate = 'quality'
),
rated AS (
    SELECT
        w.*,
        -- of all workloads together only where none has another policy
        coalesce(CASE WHEN w.workload IS NULL THEN (SELECT bool_and(is_estimated) FROM rules) ELSE r.is_estimated END, false) AS is_estimated,
        sum(estimate - ungated) FILTER (WHERE labelled > 0) OVER same / nullif(sum(need) FILTER (WHERE labelled > 0) OVER same, 0) AS share
    FROM period_windows AS w
    LEFT JOIN rules AS r ON r.workload = w.workload
    WINDOW same AS (PARTITION BY period, choice, w.workload)
),
counted AS (
    SELECT *, greatest(0, 1 - need * share / nullif(upper - ungated, 0)) AS excess_share
    FROM rated
    WHERE is_estimated AND labelled = 0 AND need > 0
)
SELECT
    period, choice,
    sum((upper - ungated) * excess_share) AS excess,
    sum((high_tokens - low_tokens) * excess_share) AS excess_tokens
FROM counted
WHERE excess_share > 0
GROUP BY period, choice
