-- description: The weights by which tokens of each model share its replica's time: the first of the settings that match
-- grain: model
-- reads: attempts, work_weights
-- unit: the defaults have the shape of published prices: an output token costs five input tokens, a cached one a tenth
SELECT
    m.model,
    coalesce(w.prefill_weight, 1.0) AS prefill_weight,
    coalesce(w.cached_weight, 0.1) AS cached_weight,
    coalesce(w.decode_weight, 5.0) AS decode_weight,
    coalesce(w.draft_weight, 0.5) AS draft_weight
FROM (SELECT DISTINCT model FROM attempts) AS m
LEFT JOIN work_weights AS w
    ON matches_any(m.model, w.model)
QUALIFY row_number() OVER (PARTITION BY m.model ORDER BY w.ordinal) = 1
