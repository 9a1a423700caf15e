-- description: The gates of workload `workload` with their bounds
-- grain: gate
-- reads: workloads
SELECT gate, bound, on_missing FROM workloads WHERE workload = $workload AND gate IS NOT NULL
