-- description: Attempts split at the ledger's windows, with the cost of each piece and the parts of it that were recomputation and rejected drafts
-- grain: attempt_id, step_s
-- reads: attempt_work_estimates, ledger_pieces, model_bills, replica_costs, replica_work, token_prices
-- unit: usd NULL: not known; seconds: of the piece
-- An attempt bears its replica's busy cost in proportion to its work. One that is bought by the token costs its share of its
-- model's bill, else its tokens at the price that was valid when it started, else what its gateway reported. An answer from a
-- gateway's cache bought none.
-- *_error_ratio: 95 % bounds; *_common_ratio: the part of that error which all pieces share (replica_work, replica_costs).
WITH weighed AS (
    SELECT
        p.*,
        c.usd AS replica_usd, c.gpu_s * c.busy_ratio AS busy_gpu_s, c.usd * c.busy_ratio AS busy_usd, c.basis AS replica_basis,
        CASE WHEN c.usd IS NOT NULL THEN c.error_ratio ELSE 0 END AS cost_error_ratio,
        coalesce(c.pool, p.pool) AS charged_pool,
        is_bought(c.usd, p.engine_seen, c.by_engine) AS is_bought,
        w.work AS all_work, w.in_flight_s, w.work_error_ratio, w.recomputing_error_ratio, w.speculating_error_ratio,
        w.work_common_ratio, w.recomputing_common_ratio,
        e.work AS estimated_work, e.error_work, e.common_error_work,
        coalesce(e.work, p.reported_work * p.share, w.work_per_s * p.seconds) AS base_work,
        coalesce(p.recomputed_tokens * p.share, w.recomputed_per_s * p.seconds, 0) AS redone_tokens,
        coalesce(p.draft_tokens * p.share, w.draft_per_s * p.seconds, 0) AS drafted_tokens,
        coalesce(p.rejected_tokens * p.share, w.rejected_per_s * p.seconds, 0) AS rejected_draft_tokens
    FROM ledger_pieces AS p
    LEFT JOIN replica_costs AS c ON c.replica = p.replica AND c.step_s = p.step_s
    LEFT JOIN replica_work AS w ON w.replica = p.replica AND w.step_s = p.step_s
    LEFT JOIN attempt_work_estimates AS e ON e.attempt_id = p.attempt_id AND e.step_s = p.step_s
),
worked AS (
    SELECT *, base_work + prefill_weight * redone_tokens + draft_weight * drafted_tokens AS work FROM weighed
),
-- a price list has few rows of one model, so that looking up the one that held then stays linear
priced AS (
    SELECT
        w.*, t.tiered,
        -- a prompt beyond the tier has other prices for all of its tokens
        coalesce(w.input_tokens > t.tier_above_tokens, false) AS is_beyond,
        CASE WHEN is_beyond THEN coalesce(t.tier_input_token_usd, t.input_token_usd) ELSE t.input_token_usd END AS price_input,
        CASE WHEN is_beyond THEN coalesce(t.tier_output_token_usd, t.output_token_usd) ELSE t.output_token_usd END AS price_output,
        coalesce(CASE WHEN is_beyond THEN t.tier_cached_input_token_usd END, t.cached_input_token_usd, price_input) AS price_cached_input,
        coalesce(CASE WHEN is_beyond THEN t.tier_cache_write_token_usd END, t.cache_write_token_usd, price_input) AS price_cache_write,
        w.share * (
            price_input
                * at_least(input_tokens - coalesce(cached_input_tokens, 0) - coalesce(cache_write_tokens, 0), 0)
            + price_cache_write * coalesce(cache_write_tokens, 0)
        ) AS listed_input_usd,
        w.share * price_cached_input * coalesce(cached_input_tokens, 0) AS listed_cached_input_usd,
        w.share * (
            coalesce(price_output, 0) * greatest(coalesce(output_tokens, 0) - coalesce(reasoning_tokens, 0), 0)
            + coalesce(t.reasoning_token_usd, price_output, 0) * coalesce(reasoning_tokens, 0)
        ) AS listed_output_usd,
        listed_input_usd + listed_cached_input_usd + listed_output_usd AS listed_usd,
        b.usd * coalesce(ratio(coalesce(w.reported_work, 0) * w.share, b.work), 1.0 / b.pieces) AS billed_usd,
        b.basis AS billed_basis
    FROM worked AS w
    LEFT JOIN model_bills AS b ON w.is_bought AND b.model = w.model AND b.step_s = w.step_s
    LEFT JOIN token_prices AS t ON w.is_bought AND t.model = w.model
        AND w.start_ns >= epoch_us(t.valid_from) * 1000
        AND (t.valid_to IS NULL OR w.start_ns < epoch_us(t.valid_to) * 1000)
),
shared AS (
    SELECT
        *,
        -- where there is no work at all, time is
        coalesce(ratio(work, all_work), ratio(seconds, in_flight_s), 0) AS part,
        -- a gateway that has no price reports nothing
        nullif(share * reported_cost_usd, 0) AS reported_usd,
        is_bought OR replica IS NULL AS whole
    FROM priced
)
SELECT
    attempt_id, request_key, step_s, bucket, late_by, charged_pool AS pool, replica, model, workload, route, tenant, seconds,
    CASE
        WHEN NOT is_bought THEN busy_usd * part
        WHEN answered_from_cache THEN 0
        ELSE coalesce(billed_usd, listed_usd, reported_usd)
    END AS usd,
    CASE WHEN NOT is_bought THEN busy_gpu_s * part END AS gpu_s,
    tokens * share AS tokens,
    CASE WHEN whole THEN 0 ELSE redone_tokens END AS redone_tokens,
    CASE WHEN whole THEN 0 ELSE rejected_draft_tokens END AS rejected_draft_tokens,
    CASE WHEN whole THEN 0 ELSE coalesce(ratio(prefill_weight * redone_tokens, work), 0) END AS recomputing,
    CASE WHEN whole THEN 0 ELSE coalesce(ratio(draft_weight * rejected_draft_tokens, work), 0) END AS speculating,
    CASE
        WHEN NOT is_bought THEN replica_basis
        WHEN answered_from_cache THEN 'reported'
        WHEN billed_usd IS NOT NULL THEN billed_basis
        WHEN listed_usd IS NOT NULL THEN 'token_price'
        WHEN reported_usd IS NOT NULL THEN 'reported'
    END AS basis,
    CASE WHEN basis = 'token_price' THEN listed_input_usd END AS input_usd,
    CASE WHEN basis = 'token_price' THEN listed_cached_input_usd END AS cached_input_usd,
    CASE WHEN basis = 'token_price' THEN listed_output_usd END AS output_usd,
    CASE
        WHEN NOT is_bought THEN is_unreported OR estimated_work IS NOT NULL OR cost_error_ratio > 0
        ELSE coalesce(basis = 'token_price' AND tiered, false)
    END AS estimated,
    -- 95 % bounds, relative: an attempt that reports nothing may as well have done nothing
    CASE
        WHEN is_bought THEN 0
        WHEN estimated_work IS NOT NULL THEN coalesce(ratio(error_work, work), 0)
        WHEN is_unreported AND NOT is_waiting THEN 1
        ELSE coalesce(work_error_ratio, 0)
    END + cost_error_ratio AS error_ratio,
    CASE
        WHEN is_bought THEN 0
        WHEN estimated_work IS NOT NULL THEN coalesce(ratio(common_error_work, work), 0)
        WHEN is_unreported AND NOT is_waiting THEN 1
        ELSE coalesce(work_common_ratio, 0)
    END + cost_error_ratio AS common_ratio,
    CASE WHEN recomputed_tokens IS NULL THEN recomputing_error_ratio + cost_error_ratio ELSE error_ratio END AS recomputing_error_ratio,
    CASE WHEN recomputed_tokens IS NULL THEN recomputing_common_ratio + cost_error_ratio ELSE common_ratio END AS recomputing_common_ratio,
    CASE WHEN draft_tokens IS NULL THEN speculating_error_ratio + cost_error_ratio ELSE error_ratio END AS speculating_error_ratio,
    CASE WHEN draft_tokens IS NULL THEN work_common_ratio + cost_error_ratio ELSE common_ratio END AS speculating_common_ratio,
    recomputed_tokens IS NULL OR cost_error_ratio > 0 AS recomputing_estimated,
    draft_tokens IS NULL OR cost_error_ratio > 0 AS speculating_estimated
FROM shared
