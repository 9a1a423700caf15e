-- description: Which workloads, models, pools and routes occur together in requests and sessions
-- grain: workload, model, pool, route
-- reads: requests, session_hours
SELECT workload, model, pool, route FROM requests GROUP BY ALL
UNION
SELECT workload, model, pool, route FROM session_hours GROUP BY ALL
