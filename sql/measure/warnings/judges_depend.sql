-- description: Pairs of evaluators that a workload names of which one judges more, or fewer, of what the other fails than of what it passes, in the last 7 measured days (p < 0.001)
-- grain: subject
-- reads: quality_labels, workload_rules
-- only the hours of these days are loaded
WITH judged AS (
    SELECT l.workload, l.request_key, l.request_at, l.evaluator, bool_and(l.passed) AS passed, min(l.labelled_at) AS at
    FROM quality_labels AS l
    JOIN workload_rules AS w
        ON w.workload = l.workload AND w.unlabelled = 'estimate' AND w.sampling <> 'none' AND list_contains(w.evaluators, l.evaluator)
    WHERE l.current AND l.passed IS NOT NULL AND l.request_key IS NOT NULL
    GROUP BY ALL
),
pairs AS (
    SELECT
        f.workload, f.evaluator AS first, o.evaluator AS other,
        count(*) FILTER (WHERE f.passed) AS passed, count(*) FILTER (WHERE NOT f.passed) AS failed,
        count(s.request_key) FILTER (WHERE f.passed) AS passed_judged, count(s.request_key) FILTER (WHERE NOT f.passed) AS failed_judged,
        min(f.at) AS first_at, max(f.at) AS last_at
    FROM judged AS f
    JOIN (SELECT DISTINCT workload, evaluator FROM judged) AS o ON o.workload = f.workload AND o.evaluator <> f.evaluator
    LEFT JOIN judged AS s
        ON s.workload = f.workload AND s.request_key = f.request_key AND s.request_at = f.request_at AND s.evaluator = o.evaluator
    GROUP BY ALL
),
compared AS (
    SELECT *, (passed_judged + failed_judged) / (passed + failed) AS share
    FROM pairs
    WHERE passed > 0 AND failed > 0
)
SELECT
    'high' AS severity,
    format('{}: {} after {}', workload, other, first) AS subject,
    format('Evaluator {} of workload {} judged {:.1f} % of the {:,} answer(s) that {} fails, and {:.1f} % of the {:,} that it passes. '
            || 'What both judged is no sample of all, so goodput is wrong. Name one of them in `evaluators`, or send one label '
            || 'that holds the result of both',
        other, workload, 100 * failed_judged / failed, failed, first, 100 * passed_judged / passed, passed) AS message,
    passed_judged + failed_judged AS affected,
    passed + failed AS total,
    first_at AS first_seen_at,
    last_at AS last_seen_at
FROM compared
-- the 99.9th percentile of chi-square with one degree of freedom
WHERE share > 0 AND share < 1
    AND (passed_judged / passed - failed_judged / failed) ** 2 > 10.828 * share * (1 - share) * (1 / passed + 1 / failed)
