-- description: Workloads whose labels were not drawn alike in the last 7 measured days: label rates of their models, pools, routes, windows or parts of these, tenants or lengths of answers differ beyond chance (p < 0.001)
-- grain: subject
-- reads: label_rates, latest_window
-- Chi-square within windows and between them, of draws; of few draws it varies by more than chi-square does: see Satterthwaite (1946).
WITH recent AS (
    SELECT
        r.*,
        sum_steady(r.label_draws) OVER of_workload / sum_steady(r.draws) OVER of_workload AS rate,
        sum(r.labelled) OVER of_workload / sum(r.need_label) OVER of_workload AS label_rate
    FROM label_rates AS r
    JOIN latest_window AS w ON r.window_s = w.window_s AND r.window_start <= w.window_start
    WINDOW of_workload AS (PARTITION BY r.workload, r.cut_by)
),
judged AS (
    SELECT
        workload, cut_by,
        any_value(label_rate) AS label_rate,
        -- places differ between windows too; tenants and lengths that come at other times are no reason why labels do
        CASE cut_by WHEN 'place' THEN count(*) - 1 ELSE 0 END AS df_between,
        sum(df) + df_between AS df,
        sum_steady(chi_square) + CASE WHEN df_between > 0
            THEN greatest(0, rates_unlike(sum_steady(label_draws ** 2 / draws), sum_steady(label_draws), sum_steady(draws))) ELSE 0 END
            AS unlike,
        sum_steady(chi_square_variance) + sum_steady(rates_unlike_variance(rate, draws)) * df_between / count(*) AS variance,
        -- the cell that is the furthest from all
        arg_max(
            {
                words: CASE cut_by
                    WHEN 'place' THEN format(
                        'model {}, pool {}, route {} from {} UTC on', cell_model, cell_pool, cell_route, minute_utc(cell_start))
                    WHEN 'tenant' THEN format('tenant {} from {} UTC on', cell_tenant, minute_utc(cell_start))
                    ELSE format('answers of {} to {} tokens from {} UTC on',
                        cell_from_tokens, 2 * cell_from_tokens - 1, minute_utc(cell_start))
                END,
                rate: cell_labelled / cell_need_label,
                beside: CASE cut_by WHEN 'place' THEN format('{:.1f} %', 100 * label_rate) ELSE format('{:.1f} % then', 100 * labelled / need_label) END
            },
            [
                (cell_labelled - cell_need_label * CASE cut_by WHEN 'place' THEN label_rate ELSE labelled / need_label END) ** 2
                    / cell_need_label,
                epoch(cell_start)
            ]) AS cell,
        sum(labelled) AS labelled, sum(need_label) AS need,
        min(window_start) AS first_at, max(window_start) AS last_at
    FROM recent
    WHERE rate > 0 AND rate < 1
    GROUP BY workload, cut_by
),
scaled AS (
    SELECT *, variance / (2 * df) AS scale, df / scale AS scaled_df FROM judged WHERE df > 0
)
SELECT
    'medium' AS severity,
    workload AS subject,
    format('Labels of workload {} were not drawn alike: of {} {:.1f} % have one, of all {}. {}',
        workload, cell.words, 100 * cell.rate, cell.beside,
        CASE WHEN cut_by = 'place'
            THEN format('Estimates are made cell by cell for that; if nobody drew them by chance (thumbs, tickets), '
                || 'set `sampling = "none"` in [workloads.{}.quality]', workload)
            ELSE format('Estimates do not allow for that: draw labels by `goodput labels plan`, '
                || 'or set `sampling = "none"` in [workloads.{}.quality]', workload)
        END) AS message,
    labelled AS affected,
    need AS total,
    first_at AS first_seen_at,
    last_at AS last_seen_at
FROM scaled
-- the 99.9th percentile of chi-square (Wilson and Hilferty 1931)
WHERE unlike / scale > scaled_df * (1 - 2 / (9 * scaled_df) + 3.090232306167813 * sqrt(2 / (9 * scaled_df))) ** 3
-- what estimates do not allow for first
QUALIFY row_number() OVER (PARTITION BY workload ORDER BY cut_by = 'place', unlike / scale / scaled_df DESC, cut_by) = 1
