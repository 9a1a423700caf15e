-- description: Pairs of emitters that probably report the same calls as requests of their own
-- grain: subject
-- reads: double_counts
SELECT
    'high' AS severity,
    CASE WHEN first = second THEN first ELSE format('{} and {}', first, second) END AS subject,
    format('{} probably counted twice: {:,} of the last {:,} request(s) ({:.1f} %), by {}. Let one of the two emit, or leave one out '
            || 'with [leave_out]; `goodput connect` shows the calls',
        CASE WHEN first = second THEN format('Answers of emitter {} are', first) ELSE format('Calls that {} and {} both report are', first, second) END,
        calls, requests, 100 * calls / requests, sign) AS message,
    calls AS affected,
    requests AS total,
    first_at AS first_seen_at,
    last_at AS last_seen_at
FROM double_counts
