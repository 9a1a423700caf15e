-- description: The three largest leaks of the day (else the longest window) that `headline` shows, where its cost is known
-- grain: leak
-- reads: latest_window, waste
-- unit: usd, at least where a part of it has no price; share of all that was spent, as far as it has a price
SELECT
    w.bucket AS leak,
    CASE WHEN w.unpriced > 0 OR coalesce(w.no_interval = 'work_unpriced', false) THEN 'at least ' ELSE '' END || dollars(w.usd) AS usd,
    format('{:.1f} %', 100 * w.share_ratio) || CASE WHEN w.no_share_interval = 'work_unpriced' THEN ' of what is priced' ELSE '' END AS share,
    CASE w.bucket
        WHEN 'slow' THEN 'answers that came too late for their gates'
        WHEN 'rejected' THEN 'answers that failed the quality gate'
        WHEN 'failed' THEN 'requests that got no complete answer'
        WHEN 'ungated' THEN 'answers that no workload of the settings matches, so that no gate judged them'
        WHEN 'over_budget' THEN 'answers after more retries than are acceptable'
        WHEN 'unevaluable' THEN 'answers that lack a measurement which a gate needs'
        WHEN 'retry' THEN 'tries that another try superseded'
        WHEN 'abandoned' THEN 'work for clients that had gone away'
        WHEN 'preemption' THEN 'prompts computed again after a preemption'
        WHEN 'speculation' THEN 'draft tokens that were rejected'
        WHEN 'idle' THEN 'replicas that were paid for with nothing in flight'
        WHEN 'unattributed' THEN 'bills for what telemetry did not see, or when it saw nothing'
    END || CASE WHEN w.estimated THEN ' (in part estimated)' ELSE '' END AS what
FROM waste AS w
JOIN latest_window USING (window_s, window_start)
WHERE w.slice = 'overall' AND w.bucket NOT IN ('accepted', 'unlabelled') AND w.usd > 0
ORDER BY w.usd DESC, w.bucket
LIMIT 3
