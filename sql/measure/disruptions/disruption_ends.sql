-- description: When each event's disruption ended, by its baseline (draw 0) and by each bootstrap sample of it (docs/semantics.md#disruptions)
-- grain: event_id, draw
-- reads: baseline_draws, disrupting_events, disruption_options, draws, pool_windows
WITH events AS (
    SELECT e.*, d.draw, b.hit_ratio, b.p95_ttft_s, o.base_s, o.tolerance_ratio, o.observed_until_s
    FROM disrupting_events AS e
    CROSS JOIN disruption_options AS o
    CROSS JOIN (SELECT DISTINCT draw FROM draws) AS d
    LEFT JOIN baseline_draws AS b USING (event_id, draw)
    -- the effect of what was over before telemetry began is unknown
    WHERE e.occurred_s >= o.from_s AND e.occurred_s < o.until_s AND e.cap_until_s > o.observed_from_s
),
compared AS (
    SELECT
        e.event_id, e.draw, w.start_s, e.base_s,
        -- a window that lacks a measure which the baseline has is not known to have recovered
        (e.hit_ratio IS NOT NULL OR e.p95_ttft_s IS NOT NULL)
            AND coalesce(
                ratio(w.cached_input_tokens, w.input_tokens) >= (1 - e.tolerance_ratio) * e.hit_ratio, e.hit_ratio IS NULL)
            AND coalesce(w.p95_ttft_s <= (1 + e.tolerance_ratio) * e.p95_ttft_s, e.p95_ttft_s IS NULL) AS back
    FROM events AS e
    JOIN pool_windows AS w
        ON w.pool IS NOT DISTINCT FROM e.pool AND w.whole
        AND w.start_s + e.base_s > e.occurred_s AND w.start_s < e.cap_until_s + e.base_s
),
returned AS (
    SELECT event_id, draw, min(start_s) AS back_s
    FROM (
        SELECT
            *,
            back AND coalesce(lead(back) OVER event AND lead(start_s) OVER event = start_s + base_s, false) AS stays
        FROM compared
        WINDOW event AS (PARTITION BY event_id, draw ORDER BY start_s)
    )
    WHERE stays
    GROUP BY event_id, draw
)
SELECT
    e.event_id, e.draw,
    CASE
        WHEN r.back_s < e.cap_until_s THEN 'recovered'
        WHEN e.cap_until_s <= e.observed_until_s THEN 'cap'
        ELSE 'open'
    END AS ended_by,
    CASE
        WHEN r.back_s < e.cap_until_s THEN greatest(r.back_s, e.occurred_s)
        ELSE greatest(e.occurred_s, least(e.cap_until_s, e.observed_until_s))
    END AS until_s,
    CASE WHEN r.back_s < e.cap_until_s THEN greatest(r.back_s * 1000000 - epoch_us(e.occurred_at), 0) / 1e6 END AS recovery_s,
    e.cap_until_s - e.occurred_s AS cap_s
FROM events AS e
LEFT JOIN returned AS r USING (event_id, draw)
