-- description: Evaluators of whose labels of the newest day 20 and a tenth or more judge no request of the last 7 measured days
-- grain: subject
-- reads: label_records, quality_labels
-- only these days are loaded
SELECT
    'medium' AS severity,
    evaluator AS subject,
    format('{:,} of {:,} label(s) of {} judge no request that was collected: `goodput query "from unjoined_labels limit 20"` has each '
        || 'with its reason. Where these are answers of one kind, what the others show does not hold for it',
        count(*) FILTER (WHERE NOT is_joined), count(*), evaluator) AS message,
    count(*) FILTER (WHERE NOT is_joined) AS affected,
    count(*) AS total,
    make_timestamptz(min(labelled_ns) // 1000) AS first_seen_at,
    make_timestamptz(max(labelled_ns) // 1000) AS last_seen_at
FROM (
    SELECT
        label_id, coalesce(any_value(evaluator), 'unknown') AS evaluator, max(labelled_ns) AS labelled_ns,
        label_id IN (SELECT label_id FROM quality_labels) AS is_joined
    FROM label_records
    GROUP BY label_id
)
GROUP BY evaluator
HAVING affected >= 20 AND affected >= 0.1 * total
