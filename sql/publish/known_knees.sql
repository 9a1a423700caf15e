-- description: What `replicas_for` answers from: the knee of each route and pool, and why it has none to offer
-- grain: slice, pool, route
-- reads: frontier
SELECT DISTINCT slice, pool, route, knee_rps, no_recommendation FROM frontier
