-- description: How far the published numbers can be trusted: what was read, what was left out, what is not final
-- grain: fact
-- reads: blocked_partitions, coverage, reconciliation, shown_periods, sources, warnings, watermark
WITH told AS (
    SELECT 1 AS place, 'rows' AS fact, 'Rows read' AS name,
        format('{:,} read, {:,} kept, {:,} duplicates, {:,} quarantined, {:,} ignored',
            coalesce(sum(rows_read), 0)::BIGINT, coalesce(sum(rows_kept), 0)::BIGINT, coalesce(sum(rows_duplicate), 0)::BIGINT,
            coalesce(sum(rows_quarantined), 0)::BIGINT, coalesce(sum(rows_ignored), 0)::BIGINT) AS says,
        coalesce(sum(rows_quarantined), 0) > 0 AS is_doubtful
    FROM sources
    UNION ALL
    SELECT 2, 'coverage', 'Seen of what engines counted',
        CASE WHEN sum(attempts_compared) > 0 THEN format('{:.1f} %, {:,} requests in no telemetry',
            100 * least(1, sum(attempts_compared * coverage_ratio) / sum(attempts_compared)), sum(requests_unobserved)::BIGINT)
            ELSE 'not known: no engine reports how many requests it finished' END,
        coalesce(sum(requests_unobserved) > 0, true)
    FROM (SELECT DISTINCT c.* FROM coverage AS c JOIN shown_periods AS p ON c.window_start >= p.from_at AND c.window_start < p.until_at)
    UNION ALL
    SELECT 3, 'final', 'Final until',
        coalesce(strftime(min(final_until_at), '%Y-%m-%d %H:%M UTC'), 'nothing yet') || '; later windows can still change by late labels or bills', false
    FROM watermark
    UNION ALL
    SELECT 4, 'money', 'Billed and accounted for',
        CASE WHEN count(*) > 0 THEN format('${:,.2f} billed, ${:,.2f} in windows, ${:,.2f} on days without telemetry, ${:,.2f} displaced by a better basis',
            sum(billed_usd), sum(allocated_usd), sum(outside_usd), sum(displaced_usd)) ELSE 'no bill or price covers this period' END,
        count(*) = 0 OR abs(sum(difference_usd)) >= 0.005
    FROM (
        SELECT DISTINCT r.* FROM reconciliation AS r
        JOIN shown_periods AS p ON r.day_start >= date_trunc('day', p.from_at) AND r.day_start < p.until_at
    )
    UNION ALL
    SELECT 5, 'blocked', 'Blocked partitions', CASE WHEN count(*) = 0 THEN 'none' ELSE format('{:,}', count(*)) END, count(*) > 0 FROM blocked_partitions
    UNION ALL
    SELECT 6, kind || ' ' || coalesce(subject, ''), 'Warning', message, true FROM warnings
)
SELECT place, name, says, is_doubtful FROM told ORDER BY ALL
