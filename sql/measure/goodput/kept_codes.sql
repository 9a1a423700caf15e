-- description: `kept_names`, and what the others are called as enum codes
-- grain: window_s, start_s
-- reads: kept_names
SELECT *, '(other)'::model_code AS other_model, '(other)'::pool_code AS other_pool, '(other)'::route_code AS other_route
FROM kept_names
