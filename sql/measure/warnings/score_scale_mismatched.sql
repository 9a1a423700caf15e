-- description: Evaluators whose scores in the last 7 measured days are on another scale than the `min_score` that decides them, which nearly all of them reach
-- grain: subject
-- reads: quality_labels, workload_rules
-- only the hours of these days are loaded
-- Fewer than 20 may be chance. Scores that none reaches are in quality_never_passed.
WITH scored AS (
    SELECT
        l.workload, l.evaluator, w.min_score,
        count(*) AS scores,
        count(*) FILTER (WHERE l.passed) AS passed,
        min(l.score) AS least, max(l.score) AS greatest,
        count(*) FILTER (WHERE l.score > 0 AND l.score < 1) AS fractions,
        -- an evaluator that gives verdicts of its own is not judged by its scores
        bool_and(l.passed = (l.score >= w.min_score)) AS by_score,
        min(l.labelled_at) AS first_at, max(l.labelled_at) AS last_at
    FROM quality_labels AS l
    JOIN workload_rules AS w
        ON w.workload = l.workload AND w.min_score > 0 AND (len(w.evaluators) = 0 OR list_contains(w.evaluators, l.evaluator))
    WHERE l.current AND l.score IS NOT NULL AND l.passed IS NOT NULL
    GROUP BY l.workload, l.evaluator, w.min_score
)
SELECT
    'high' AS severity,
    format('{}: {}', workload, evaluator) AS subject,
    format('{:,} score(s) of evaluator {} of workload {} reach from {:g} to {:g}, on another scale than `min_score` = {:g}: {:,} pass. '
            || 'Set `min_score` in [workloads.{}.quality] on the scale of the scores',
        scores, evaluator, workload, least, greatest, min_score, passed, workload) AS message,
    passed AS affected,
    scores AS total,
    first_at AS first_seen_at,
    last_at AS last_seen_at
FROM scored
WHERE scores >= 20 AND by_score
    AND (
        -- a bound of 0 to 1, and scores of 1 to 5, 1 to 10 or in percent
        (min_score < 1 AND least >= 1 AND greatest > 1)
        OR (min_score = 1 AND least > 1)
        -- with zeros they may be counts, unless they are large
        OR (min_score < 1 AND least = 0 AND fractions = 0 AND greatest > 10)
        -- a bound of 1 to 5, and scores in percent
        OR (min_score <= 5 AND least >= 4 * min_score AND greatest > 10)
    )
