-- description: Whether the partition has more rows than are held at once: its percentiles are then counted (docs/semantics.md#percentiles)
-- grain: one row
-- reads: partition_size, size_options
-- kind: view
SELECT rows > max_exact_requests AS is_large FROM partition_size CROSS JOIN size_options
