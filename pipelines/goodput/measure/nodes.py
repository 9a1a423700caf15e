"""The measured tables: coverage, money, windows of goodput, replicas, the frontier, and what operations cost."""

import duckdb

from goodput.join.options import SETTINGS_TABLES as JOIN_TABLES
from goodput.join.options import observed, options, places, source_files
from goodput.join.workloads import workload_rows
from goodput.measure import (
    bills,
    cost_ledger,
    coverage,
    disruptions,
    evaluator_labels,
    frontier,
    id_hours,
    known_replicas,
    reconciliation,
    replicas,
    slices,
    warnings,
    watermark,
    windows,
)
from goodput.measure.gates import gate_order, gate_rows
from goodput.measure.hourly_sums import hourly_sums
from goodput.measure.ledger_shards import LEDGER_IN_SHARDS
from goodput.measure.lookback import longest_windows
from goodput.measure.part_hours import compute_with_part_hour
from goodput.measure.percentiles import partition_size, size_options
from goodput.plumbing import source_ledger
from goodput.plumbing.catalog import ALL
from goodput.plumbing.compute import compute_sql, grains, measured_range, target_hours
from goodput.plumbing.node import OWN_HOURS, Node

COVERAGE = Node(
    "coverage",
    "measure",
    ("coverage",),
    "Requests that telemetry shows beside requests that the engines counted.",
    compute_sql,
    lookaround=coverage.lookaround,
    from_batch={"target_hours": target_hours},
)
KNOWN_REPLICAS = Node(
    "known_replicas",
    "measure",
    ("known_replicas",),
    "Replicas that telemetry shows in an hour, and their names.",
    compute_with_part_hour,
    lookaround=known_replicas.lookaround,
    from_settings={**JOIN_TABLES, "ledger_options": cost_ledger.ledger_options},
    from_batch={"target_hours": target_hours},
)
COST_LEDGER = Node(
    "cost_ledger",
    "measure",
    ("cost_ledger", "billed_buckets", "paid_time"),
    "Every dollar in one bucket, attempt by window; and what each billing source was spent on.",
    compute_with_part_hour,
    lookaround=cost_ledger.lookaround,
    from_settings={**JOIN_TABLES, **cost_ledger.SETTINGS_TABLES},
    from_batch={
        "target_hours": target_hours,
        "billed_days": bills.billed_days,
        "absent_replicas": known_replicas.absent_replicas,
    },
    beside=lambda context, hour: (
        cost_ledger.bills_and_prices(context, hour),
        known_replicas.absent_in(context, hour),
    ),
    apart=frozenset({"cost_records", "token_prices"}),
    also=bills.billed_hours,
    consults=("known_replicas",),  # a bill may name one of any hour
    span={"requests": bills.request_partitions},
    shards=LEDGER_IN_SHARDS,
)
RECONCILIATION = Node(
    "reconciliation",
    "measure",
    ("reconciliation",),
    "Every dollar of bills: in which bucket it is, or why in none.",
    reconciliation.reconcile_days,
    from_batch={
        "target_hours": target_hours,
        "billed_days": bills.billed_days,
        "closed_time": bills.closed_time,
    },
    beside=reconciliation.bills_of_day,
    apart=frozenset({"cost_records"}),
    aside={"replica_samples": lambda _context, _: ()},  # which hours there are bounds the time that is billed
    also=reconciliation.billed_days_of_all_time,
    together_h=31 * 24,
    is_never_final=True,
)
WASTE_SUMS = ("step_costs", "weighed_costs", "ended_requests", "asked_sessions", "step_names", "step_values")
WASTE = Node(
    "waste",
    "measure",
    ("waste",),
    "Where dollars, GPU time and tokens went, by window, slice and bucket.",
    compute_sql,
    lookaround=lambda _: {"cost_ledger": OWN_HOURS},
    from_settings={
        "ledger_options": cost_ledger.ledger_options,
        "workload_rules": workload_rows,
        "size_options": size_options,
        **slices.SETTINGS_TABLES,
    },
    from_batch={"grains": grains, "measured_range": measured_range, "partition_size": partition_size},
    consults=("cost_records",),  # a bill may name a request of any hour
    span={"requests": bills.wasted_request_partitions},
    shards=hourly_sums(WASTE_SUMS).shards,
    sized_by="requests",
)
QUALITY = Node(
    "quality",
    "measure",
    ("quality", "label_rates"),
    "What evaluators and the quality gate say of delivered answers, and how evenly they judge.",
    compute_sql,
    lookaround=lambda _: dict.fromkeys(("requests", "quality_labels"), OWN_HOURS),
    from_settings={"workload_rules": workload_rows, "slice_options": slices.slice_options},
    from_batch={"grains": grains, "measured_range": measured_range},
)
WINDOWS = Node(
    "windows",
    "measure",
    (*windows.TABLES, "restatements"),
    "Windows of goodput.",
    windows.compute_windows,
    lookaround=windows.lookaround,
    from_settings={
        "workload_rules": workload_rows,
        "gates": lambda _: gate_order(),
        "size_options": size_options,
        **slices.SETTINGS_TABLES,
    },
    from_batch={
        "grains": grains,
        "measured_range": measured_range,
        "partition_size": partition_size,
        "window_options": windows.window_options,
    },
    beside=windows.beside,
    span={"session_hours": windows.session_partitions},
    aside={"goodput": lambda _context, partition: (partition,), source_ledger.TABLE: lambda _context, _: (ALL,)},
    appended=("restatements",),
    shards=windows.HOURLY_SUMS.shards,
    sized_by="requests",
)
REPLICAS = Node(
    "replicas",
    "measure",
    ("cache_by_replica", "cache_effect", "replica_histograms", "replica_windows"),
    "Caches, queues, gauges and histograms of each replica.",
    compute_with_part_hour,
    lookaround=replicas.lookaround,
    from_settings={
        **JOIN_TABLES,
        "ledger_options": cost_ledger.ledger_options,
        "size_options": size_options,
        **replicas.SETTINGS_TABLES,
    },
    from_batch={"grains": grains, "measured_range": measured_range, "partition_size": partition_size},
    shards=replicas.HOURLY_SUMS.shards,
    sized_by="attempts",
)
FRONTIER = Node(
    "frontier",
    "measure",
    ("frontier",),
    "Goodput by offered load, and the knee, from the load windows of the last busy week.",
    frontier.compute_frontier,
    from_settings={
        "workload_rules": workload_rows,
        "slice_options": slices.slice_options,
        **frontier.SETTINGS_TABLES,
    },
    span={
        "load_windows": frontier.last_busy_week,
        "goodput": frontier.last_busy_week,
        "disruptions": frontier.last_busy_days,
    },
)
DISRUPTIONS = Node(
    "disruptions",
    "measure",
    ("disruptions",),
    "What operations did to their pools, day by day.",
    disruptions.disrupt_day,
    from_settings=disruptions.SETTINGS_TABLES,
    from_batch={"disruption_options": disruptions.options},
    beside=disruptions.events_and_edges,
    apart=frozenset({"ops_events"}),
    span={table: disruptions.around(table) for table in ("goodput", "cache_by_replica", "paid_time")},
    also=disruptions.event_days,
    together_h=1,
)
DISRUPTION_COST = Node(
    "disruption_cost",
    "measure",
    disruptions.BY_KIND,
    "What each kind of operation costs, by the last week that was measured.",
    compute_sql,
    from_settings=disruptions.SETTINGS_TABLES,
    from_batch={"disruption_options": disruptions.options},
    beside=disruptions.recovery_and_edges,
    span={
        **{table: disruptions.in_last_week(table) for table in ("goodput", "cache_by_replica", "paid_time")},
        "disruptions": lambda context, _: disruptions.last_week_days(context),
    },
)
ID_HOURS = Node(
    "id_hours",
    "measure",
    ("id_hours",),
    "In which hours an id occurs, for a search of one request.",
    id_hours.index_days,
    beside=lambda _context, _day: duckdb.__version__,  # another one may hash ids differently
    also=id_hours.days,
    together_h=7 * 24,
)
LATEST_WINDOW = Node(
    "latest_window",
    "measure",
    ("latest_window",),
    "The window that the headline shows.",
    compute_sql,
    from_batch={"observed": observed},
    beside=lambda context, _: context.observed_ns[1],
    span={"goodput": longest_windows(1)},
)
WATERMARK = Node(
    "watermark",
    "measure",
    ("watermark",),
    "How far telemetry, labels and bills reach, and until when windows are final.",
    compute_sql,
    from_settings={"watermark_options": watermark.watermark_options, "workload_rules": workload_rows},
    from_batch={"observed": observed},
    beside=lambda context, _: context.observed_ns[1],
)
EVALUATOR_LABELS = Node(
    "evaluator_labels",
    "measure",
    ("evaluator_labels",),
    "The newest labels of each evaluator, how many judge nothing, and why.",
    compute_sql,
    from_settings={"options": options},
    span=evaluator_labels.SPANS,
)
WARNINGS = Node(
    "warnings",
    "measure",
    ("warnings",),
    "What in settings or telemetry makes published numbers wrong or silent.",
    warnings.warn,
    from_settings={
        **JOIN_TABLES,
        "rates": cost_ledger.rates,
        "work_weights": cost_ledger.work_weights,
        "workloads": gate_rows,
        "path_groups": warnings.unmatched_path_groups,
        "alarm_options": warnings.alarm_options,
        **slices.SETTINGS_TABLES,
    },
    from_batch={"observed": observed, "record_hours": warnings.record_hours, "source_files": source_files},
    beside=lambda context, partition: [context.observed_ns, places(context, partition)],
    consults=("source_places",),
    span=warnings.SPANS,
)

NODES = (
    COVERAGE,
    KNOWN_REPLICAS,
    COST_LEDGER,
    RECONCILIATION,
    WASTE,
    QUALITY,
    WINDOWS,
    REPLICAS,
    FRONTIER,
    DISRUPTIONS,
    DISRUPTION_COST,
    ID_HOURS,
    LATEST_WINDOW,
    WATERMARK,
    EVALUATOR_LABELS,
    WARNINGS,
)
