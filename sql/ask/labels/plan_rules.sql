-- description: Workloads with a quality gate that a plan is asked for, and how their labels are drawn and counted
-- grain: workload
-- reads: workloads
-- kind: view
-- by_session: whole sessions are drawn; undrawn: labels that came from nobody's draw, of which only those of a plan count
SELECT
    workload, unit, unlabelled, sampling,
    unit = 'session' OR sampling = 'session' AS by_session,
    sampling = 'none' AS undrawn
FROM workloads
WHERE gate = 'quality' AND workload = coalesce(getvariable('plan_workload'), workload)
