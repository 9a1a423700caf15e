-- description: Effect and cost of each disruption compared with its baseline (draw 0), and in each bootstrap sample of both (docs/semantics.md#disruptions)
-- grain: event_id, draw
-- reads: baseline_draws, disrupted_windows, disruption_ends, draws
WITH sizes AS (
    SELECT DISTINCT event_id, windows FROM disrupted_windows
),
picked AS (
    SELECT s.event_id, d.draw, CASE WHEN d.draw = 0 THEN d.pick ELSE floor(d.v * s.windows)::BIGINT END AS ordinal
    FROM sizes AS s
    JOIN draws AS d ON d.pick < s.windows
),
inside AS (
    SELECT
        event_id, p.draw,
        sum(w.offered)::BIGINT AS offered,
        sum(w.accepted_millionths) / 1e6 AS accepted,
        ratio(sum(w.cached_input_tokens), sum(w.input_tokens)) AS hit_ratio,
        quantile_cont(w.p95_ttft_s, 0.5) AS p95_ttft_s,
        -- the cost of some of the windows is not the cost of the disruption
        CASE WHEN count(w.cost_nanousd) = count(*) THEN sum(w.cost_nanousd) / 1e9 END AS cost_usd
    FROM picked AS p
    JOIN disrupted_windows AS w USING (event_id, ordinal)
    GROUP BY event_id, p.draw
)
SELECT
    e.event_id, e.draw, e.until_s, e.ended_by,
    -- a sample that does not recover counts as the longest that it can take
    CASE WHEN e.draw = 0 THEN e.recovery_s ELSE coalesce(e.recovery_s, e.cap_s) END AS recovery_s,
    i.offered, i.accepted, i.hit_ratio, i.p95_ttft_s, i.cost_usd,
    ratio(i.cost_usd, i.accepted) AS cost_per_accepted_usd,
    b.hit_ratio AS baseline_hit_ratio,
    b.p95_ttft_s AS baseline_p95_ttft_s,
    b.goodput_ratio AS baseline_goodput_ratio,
    b.cost_per_accepted_usd AS baseline_cost_per_accepted_usd,
    i.cost_usd - i.accepted * b.cost_per_accepted_usd AS excess_cost_usd,
    i.offered * b.goodput_ratio - i.accepted AS lost_accepted
FROM disruption_ends AS e
LEFT JOIN inside AS i USING (event_id, draw)
LEFT JOIN baseline_draws AS b USING (event_id, draw)
