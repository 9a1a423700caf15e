-- description: Evaluators that judged 20 requests of the last 7 measured days twice or more, and a tenth or more of these both ways
-- grain: subject
-- reads: quality_labels
-- only the hours of these days are loaded
-- A label that was delivered again or revised is one judgement. Of fewer than 20 a tenth may be chance.
WITH judgements AS (
    SELECT
        workload, evaluator, request_key, request_at, passed, labelled_at,
        max(labelled_at) OVER (PARTITION BY request_key, request_at, evaluator) AS last_at
    FROM quality_labels
    WHERE NOT withdrawn AND passed IS NOT NULL AND request_key IS NOT NULL
),
judged AS (
    SELECT
        workload, evaluator, request_key, request_at,
        count(DISTINCT passed) > 1 AS is_both,
        count(DISTINCT passed) FILTER (WHERE labelled_at = last_at) > 1 AS is_tied,
        min(labelled_at) AS first_at, max(labelled_at) AS last_at
    FROM judgements
    GROUP BY workload, evaluator, request_key, request_at
    HAVING count(*) > 1
)
SELECT
    'medium' AS severity,
    format('{}: {}', workload, evaluator) AS subject,
    format('Evaluator {} of workload {} judged {:,} request(s) more than once, {:,} of them to pass and to fail: the latest judgement '
            || 'counts{}. Deliver one judgement of each, or give judges that answer different questions different names',
        evaluator, workload, count(*), count(*) FILTER (WHERE is_both),
        CASE WHEN bool_or(is_tied)
            THEN format('; of {:,} the latest were made at the same instant, and which of these counts is arbitrary',
                count(*) FILTER (WHERE is_tied))
            ELSE '' END) AS message,
    count(*) FILTER (WHERE is_both) AS affected,
    count(*) AS total,
    min(first_at) FILTER (WHERE is_both) AS first_seen_at,
    max(last_at) FILTER (WHERE is_both) AS last_seen_at
FROM judged
GROUP BY workload, evaluator
HAVING total >= 20 AND affected >= 0.1 * total
