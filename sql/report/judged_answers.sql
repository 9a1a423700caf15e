-- description: What each evaluator said of the answers of a period, by workload and model
-- grain: period, workload, model, evaluator
-- reads: quality, shown_periods
-- unit: shares of the answers; of several windows the ends of their intervals added up, which is generous; evaluator: the gate where it is their combination
SELECT
    p.period, q.workload, q.model, coalesce(q.evaluator, 'quality gate') AS evaluator,
    sum(q.answered)::BIGINT AS answered, sum(q.judged)::BIGINT AS judged, sum(q.passed)::BIGINT AS passed,
    CASE WHEN count(q.pass_ratio) = count(*) THEN sum(q.answered * q.pass_ratio) / sum(q.answered) END AS ratio,
    CASE WHEN count(q.pass_ci_low_ratio) = count(*) THEN sum(q.answered * q.pass_ci_low_ratio) / sum(q.answered) END AS low,
    CASE WHEN count(q.pass_ci_high_ratio) = count(*) THEN sum(q.answered * q.pass_ci_high_ratio) / sum(q.answered) END AS high
FROM quality AS q
JOIN shown_periods AS p ON q.window_s = p.whole_s AND q.window_start >= p.from_at AND q.window_start < p.until_at
WHERE q.label IS NULL
GROUP BY p.period, q.workload, q.model, q.evaluator
-- of one evaluator the gate says the same again
QUALIFY q.evaluator IS NOT NULL OR count(q.evaluator) OVER (PARTITION BY p.period, q.workload, q.model) <> 1
ORDER BY period, ratio, workload, evaluator, model
