-- description: Evaluators that a workload names and that judged none of its requests of the last 7 measured days, with those that did
-- grain: subject
-- reads: recent_judgements, recent_windows, unjoined_reasons, workload_rules
WITH named AS (
    SELECT workload, unnest(evaluators) AS evaluator FROM workload_rules
),
served AS (
    SELECT workload, sum(offered) AS requests, min(window_start) AS from_at, max(window_start) AS until_at
    FROM recent_windows
    WHERE slice = 'workload'
    GROUP BY workload
    HAVING sum(offered) > 0
)
SELECT
    'high' AS severity,
    format('{}: {}', n.workload, n.evaluator) AS subject,
    format('Evaluator {} of workload {} judged none of its {:,} request(s), so none can pass its quality gate. {}',
        n.evaluator, n.workload, s.requests::BIGINT,
        concat_ws('. ',
            (SELECT 'Judged did ' || some_of(list(format('{} ({:,} labels)', j.evaluator, j.labels) ORDER BY j.labels DESC, j.evaluator))
                FROM recent_judgements AS j WHERE j.workload = n.workload),
            CASE
                WHEN u.labels IS NULL THEN 'No label of it is among those of the last 7 days that have any. Correct `evaluators`, or deliver its labels'
                WHEN u.unjoined = u.labels THEN format('Its {:,} label(s) of {} judge no request: {}. {}', u.labels, u.labelled_on, u.reasons, u.advice)
                ELSE format('Its {:,} label(s) of {} judge other requests or sessions, or nothing. Correct what they name', u.labels, u.labelled_on)
            END)) AS message,
    s.requests AS affected,
    s.requests AS total,
    s.from_at AS first_seen_at,
    s.until_at AS last_seen_at
FROM named AS n
JOIN served AS s USING (workload)
LEFT JOIN unjoined_reasons AS u ON u.evaluator = n.evaluator
ANTI JOIN recent_judgements AS j ON j.workload = n.workload AND j.evaluator = n.evaluator
