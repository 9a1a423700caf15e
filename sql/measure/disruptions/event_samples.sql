-- description: How far accepted requests of each disruption and baseline may lie from their estimate because labels are a sample
-- grain: event_id, is_baseline
-- reads: event_windows
-- unit: below, above: of the disruption's own requests, of such requests in the baseline; open_below, open_above: what has no label
WITH samples AS (
    SELECT DISTINCT event_id, is_baseline, workload, all_need, all_labelled, all_passed, is_estimated, must_pass
    FROM event_windows
    WHERE workload IS NOT NULL
),
shares AS (
    SELECT
        *,
        CASE WHEN is_estimated THEN all_passed / all_labelled END AS pass_rate,
        wilson(pass_rate, CASE WHEN is_baseline THEN all_labelled ELSE drawn_size(all_labelled, all_need) END) AS likely,
        -- of the disruption's own requests some are known to have passed or failed
        CASE WHEN is_baseline THEN likely ELSE {
            value: pass_rate,
            low: greatest((likely).low, all_passed / all_need),
            high: least((likely).high, (all_passed + all_need - all_labelled) / all_need)
        } END AS share,
        all_need - all_labelled AS open
    FROM samples
)
SELECT
    event_id, is_baseline,
    sqrt(coalesce(sum((all_need * (pass_rate - share.low)) ** 2 ORDER BY workload) FILTER (WHERE is_estimated), 0)) AS below,
    sqrt(coalesce(sum((all_need * (share.high - pass_rate)) ** 2 ORDER BY workload) FILTER (WHERE is_estimated), 0)) AS above,
    coalesce(sum(open) FILTER (WHERE NOT is_estimated AND NOT must_pass), 0)::DOUBLE AS open_below,
    coalesce(sum(open) FILTER (WHERE NOT is_estimated AND must_pass), 0)::DOUBLE AS open_above
FROM shares
GROUP BY event_id, is_baseline
