-- description: Evaluators of whose labels of their newest day 20 and a tenth or more judge no request, and why
-- grain: subject
-- reads: unjoined_reasons
SELECT
    'medium' AS severity,
    evaluator AS subject,
    format('{:,} of {:,} label(s) of {} of {} judge no request: {}. {}. `goodput query "from unjoined_labels limit 20"` has each. '
            || 'Where these are answers of one kind, what the others show does not hold for it',
        unjoined, labels, evaluator, labelled_on, reasons, advice) AS message,
    unjoined AS affected,
    labels AS total,
    first_labelled_at AS first_seen_at,
    last_labelled_at AS last_seen_at
FROM unjoined_reasons
WHERE unjoined >= 20 AND unjoined >= 0.1 * labels
