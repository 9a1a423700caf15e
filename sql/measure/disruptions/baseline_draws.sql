-- description: Hits and latency of the baseline of each event (draw 0), and of each bootstrap sample of its windows (docs/semantics.md#disruptions)
-- grain: event_id, draw
-- reads: disruption_baselines, draws
-- unit: resampled are base windows, with replacement; latencies are medians of the windows' p95
WITH sizes AS (
    SELECT DISTINCT event_id, windows FROM disruption_baselines
),
picked AS (
    SELECT s.event_id, d.draw, CASE WHEN d.draw = 0 THEN d.pick ELSE floor(d.u * s.windows)::BIGINT END AS ordinal
    FROM sizes AS s
    JOIN draws AS d ON d.pick < s.windows
)
SELECT
    event_id, p.draw,
    ratio(sum(b.cached_input_tokens), sum(b.input_tokens)) AS hit_ratio,
    quantile_cont(b.p95_ttft_s, 0.5) AS p95_ttft_s
FROM picked AS p
JOIN disruption_baselines AS b USING (event_id, ordinal)
GROUP BY event_id, p.draw
