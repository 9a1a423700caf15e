-- description: How far the published numbers can be trusted: what was read, what was left out, what is not final
-- grain: fact
-- unit: limits: in a few words, of what is no fault and yet bounds what the numbers say
-- reads: blocked_partitions, coverage, disruptions, goodput, pruned, reconciliation, shown_periods, sources, warnings, watermark
WITH longest AS (SELECT min(from_at) AS from_at, max(until_at) AS until_at, min_by(drawn_s, from_at) AS drawn_s FROM shown_periods),
-- from the first window that telemetry shows anything of to the last
seen AS (
    SELECT
        l.from_at, l.until_at, min(g.window_start) AS first_at, max(g.window_start) + to_seconds(any_value(g.window_s)) AS last_at,
        -- less what nobody observed of the first window and of the last
        (date_diff('second', first_at, last_at) - arg_min(CASE WHEN g.partial THEN g.window_s - g.observed_s ELSE 0 END, g.window_start)
            - CASE WHEN min(g.window_start) < max(g.window_start)
                THEN arg_max(CASE WHEN g.partial THEN g.window_s - g.observed_s ELSE 0 END, g.window_start) ELSE 0 END) / 3600 AS hours
    FROM longest AS l
    LEFT JOIN goodput AS g
        ON g.window_s = l.drawn_s AND g.slice = 'overall' AND g.window_start >= l.from_at AND g.window_start < l.until_at
            AND (g.offered > 0 OR NOT g.partial)
    GROUP BY ALL
),
left_out AS (
    SELECT rule, sum(rows)::BIGINT AS rows, row_number() OVER (ORDER BY sum(rows) DESC, rule) AS nth
    FROM (
        SELECT unnest(map_keys(rules)) AS rule, unnest(map_values(rules)) AS rows
        FROM (SELECT json_transform(ignored, '"MAP(VARCHAR, BIGINT)"') AS rules FROM sources)
    )
    GROUP BY rule
),
facts AS (
    SELECT 1 AS place, 'rows' AS fact, 'Rows read' AS name,
        format('{:,} read, {:,} kept, {:,} duplicates, {:,} quarantined, {:,} ignored',
            coalesce(sum(rows_read), 0)::BIGINT, coalesce(sum(rows_kept), 0)::BIGINT, coalesce(sum(rows_duplicate), 0)::BIGINT,
            coalesce(sum(rows_quarantined), 0)::BIGINT, coalesce(sum(rows_ignored), 0)::BIGINT)
            -- by which rules: the three of most rows
            || coalesce((
                SELECT ': ' || string_agg(format('{:,} {}', rows, rule), ', ' ORDER BY nth) FILTER (WHERE nth <= 3)
                    || CASE WHEN count(*) > 3 THEN format(' and {:,} by {:,} more', sum(rows) FILTER (WHERE nth > 3)::BIGINT, count(*) - 3) ELSE '' END
                    || ' (`goodput sources` has their files)'
                FROM left_out
            ), '') AS says,
        coalesce(sum(rows_quarantined), 0) > 0 AS is_doubtful, NULL::VARCHAR AS limits
    FROM sources
    UNION ALL
    SELECT 0, 'telemetry', 'Telemetry',
        CASE
            WHEN first_at IS NULL THEN 'nothing of this period'
            ELSE format('{:.3g} of {:.4g} h, from {} to {} UTC', hours, date_diff('second', from_at, until_at) / 3600,
                strftime(first_at AT TIME ZONE 'UTC', '%d %b %H:%M'), strftime(last_at AT TIME ZONE 'UTC', '%d %b %H:%M'))
        END, false,
        CASE
            WHEN first_at IS NULL THEN 'telemetry has nothing of this period'
            WHEN first_at > from_at OR last_at < until_at
                THEN format('telemetry has {:.3g} of these {:.4g} h', hours, date_diff('second', from_at, until_at) / 3600)
        END
    FROM seen
    UNION ALL
    SELECT 2, 'coverage', 'Seen of what engines counted',
        CASE WHEN sum(requests_counted) > 0 THEN format('{:.1f} % in their own records, {:,} request{} in no telemetry',
            100 * least(1, sum(attempts_compared) / sum(requests_counted)), sum(requests_unobserved)::BIGINT,
            CASE WHEN sum(requests_unobserved)::BIGINT = 1 THEN '' ELSE 's' END)
            ELSE 'not known: no engine reports how many requests it finished' END,
        coalesce(sum(requests_unobserved) > 0, true),
        format('{} has records of {:.1f} % of what its engine counted in the hour from {} UTC',
            arg_min(replica, (coverage_ratio, window_start, replica)) FILTER (WHERE low_coverage), 100 * min(coverage_ratio) FILTER (WHERE low_coverage),
            strftime(arg_min(window_start, (coverage_ratio, window_start, replica)) FILTER (WHERE low_coverage) AT TIME ZONE 'UTC', '%d %b %H:%M'))
            || CASE WHEN count(*) FILTER (WHERE low_coverage) > 1 THEN format(', the least of {:,} hours of replicas below 95 %',
                count(*) FILTER (WHERE low_coverage)) ELSE '' END
    FROM (SELECT DISTINCT c.* FROM coverage AS c JOIN shown_periods AS p ON c.window_start >= p.from_at AND c.window_start < p.until_at)
    UNION ALL
    SELECT 3, 'final', 'Final until',
        CASE
            WHEN min(final_until_at) > (SELECT min(from_at) FROM shown_periods)
                THEN strftime(min(final_until_at), '%Y-%m-%d %H:%M UTC') || '; later windows can still change by late labels or bills'
            ELSE 'nothing of what is shown yet: late labels or bills can change it' || coalesce(
                format(', each window until {:.3g} days after its end', date_diff('second', min(final_until_at), min(observed_until_at)) / 86400), '')
        END, false,
        CASE WHEN min(final_until_at) > (SELECT from_at FROM longest) IS NOT true THEN 'nothing is final yet'
            WHEN min(final_until_at) < (SELECT until_at FROM longest) THEN 'final until ' || strftime(min(final_until_at) AT TIME ZONE 'UTC', '%d %b %H:%M') || ' UTC alone' END
    FROM watermark
    UNION ALL
    SELECT 4, 'money', 'Billed and accounted for',
        CASE WHEN count(*) > 0 THEN format('${:,.2f} billed, ${:,.2f} in windows, ${:,.2f} on days without telemetry, ${:,.2f} displaced by a better basis',
            -- half a cent up, as everywhere on the page
            round(sum(billed_usd)::DECIMAL(38, 9), 2)::DOUBLE, round(sum(allocated_usd)::DECIMAL(38, 9), 2)::DOUBLE,
            round(sum(outside_usd)::DECIMAL(38, 9), 2)::DOUBLE, round(sum(displaced_usd)::DECIMAL(38, 9), 2)::DOUBLE) ELSE 'no bill or price covers this period' END,
        count(*) = 0 OR abs(sum(difference_usd)) >= 0.005, NULL
    FROM (
        SELECT DISTINCT r.* FROM reconciliation AS r
        JOIN shown_periods AS p ON r.day_start >= date_trunc('day', p.from_at) AND r.day_start < p.until_at
    )
    UNION ALL
    SELECT 5, 'blocked', 'Blocked partitions', CASE WHEN count(*) = 0 THEN 'none' ELSE format('{:,}', count(*)) END, count(*) > 0, NULL FROM blocked_partitions
    UNION ALL
    SELECT 6, 'pruned ' || relation, 'Kept of ' || relation,
        format('from {} UTC on; older rows were pruned, and what is shown of the time before is without them',
            strftime(kept_from, '%Y-%m-%d %H:%M')), true, NULL
    FROM pruned
    WHERE holds = 'windows' AND kept_from > (SELECT min(from_at) FROM shown_periods)
    UNION ALL
    SELECT 7, kind || ' ' || coalesce(subject, ''), 'Warning', message, true, NULL FROM warnings
    UNION ALL
    SELECT 8, 'operations', 'Operations', format('{:,} of {:,} without a price', count(*) FILTER (WHERE d.excess_cost_usd IS NULL), count(*)), false,
        CASE WHEN count(*) FILTER (WHERE d.excess_cost_usd IS NULL) > 0
            THEN format('{:,} of {:,} operations without a price', count(*) FILTER (WHERE d.excess_cost_usd IS NULL), count(*)) END
    FROM disruptions AS d
    JOIN longest AS l ON d.occurred_at >= l.from_at AND d.occurred_at < l.until_at
    HAVING count(*) > 0
)
SELECT place, name, says, is_doubtful, limits FROM facts ORDER BY ALL
