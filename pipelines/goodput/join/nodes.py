"""The tables of the join: attempts and requests, labels, samples, and what has no hours: events, bills, prices."""

from collections.abc import Mapping

from goodput.join.event_hours import event_hours
from goodput.join.judged_hours import LABEL_HOURS, TABLE, judge_hours, judging_sources, label_hours, label_partitions
from goodput.join.options import SETTINGS_TABLES, observed, places, source_files
from goodput.join.shards import HOURS_IN_SHARDS, hours_alone
from goodput.plumbing.compute import compute_sql
from goodput.plumbing.hours import HOUR_NS, epoch_hour
from goodput.plumbing.node import OWN_HOURS, Context, Lookaround, Node


def _of_requests(context: Context) -> Mapping[str, Lookaround]:
    reach = context.request_reach_h
    return {
        # a request ends some time after its records do
        "serving_records": Lookaround(reach, reach, calls=(0, reach)),
        "span_links": Lookaround(reach, reach),
        # an attempt of a request may be that far away, and what its hour calls a replica an hour further
        "replica_names": Lookaround(reach + 1, reach + 1),
        "emitter_facts": Lookaround(reach + 1, reach + 1),
    }


def _labels_and_horizon(context: Context, hour: str) -> object:
    """The sources whose labels may judge the hour, and how far telemetry has settled what is in flight in it."""
    settled_ns = (epoch_hour(hour) + 1 + context.request_reach_h) * HOUR_NS
    return judging_sources(context).get(hour, []), min(context.observed_ns[1], settled_ns)


def _of_samples(_context: Context) -> Mapping[str, Lookaround]:
    # no reading covers more than staleness_s, which is at most an hour
    return {"sample_records": Lookaround(1, 1, calls=(0, 0)), "replica_names": Lookaround(2, 2)}


def _of_names(_context: Context) -> Mapping[str, Lookaround]:
    return {"serving_records": OWN_HOURS, "sample_records": OWN_HOURS}


def _of_labels(_context: Context) -> Mapping[str, Lookaround]:
    return {"label_records": OWN_HOURS}


JUDGED_HOURS = Node(
    "judged_hours",
    "join",
    ("judged_hours",),
    "The hours that labels may judge, looked up once for each label source.",
    judge_hours,
    from_batch={LABEL_HOURS: label_hours},
    apart=frozenset({"serving_records"}),
    aside={TABLE: lambda _context, partition: (partition,)},
    what_is_left=frozenset({"label_records", "serving_records"}),  # hours of labels that were looked up stay as found
)
REPLICA_NAMES = Node(
    "replica_names",
    "join",
    ("replica_names", "emitter_facts"),
    "What each hour's telemetry calls each replica, and shows of the systems that wrote it.",
    compute_sql,
    lookaround=_of_names,
    from_settings=SETTINGS_TABLES,
)
JOIN = Node(
    "join",
    "join",
    ("attempts", "requests", "session_hours", "quality_labels", "source_rows"),
    "Attempts become requests, and labels find the requests that they judge.",
    compute_sql,
    lookaround=_of_requests,
    from_settings=SETTINGS_TABLES,
    from_batch={"observed": observed},
    beside=_labels_and_horizon,
    apart=frozenset({"label_records"}),
    consults=("judged_hours",),
    span={"label_records": label_partitions},
    alone=hours_alone,
    shards=HOURS_IN_SHARDS,
)
SAMPLES = Node(
    "samples",
    "join",
    ("replica_samples", "sample_rows"),
    "Readings become samples, and counters increases.",
    compute_sql,
    lookaround=_of_samples,
    from_settings=SETTINGS_TABLES,
)
LABEL_ROWS = Node(
    "label_rows",
    "join",
    ("label_rows", "session_label_records"),
    "The account of label records, and those that judge sessions.",
    compute_sql,
    lookaround=_of_labels,
)
RECORD_ROWS = Node("record_rows", "join", ("record_rows",), "The account of events and prices.", compute_sql)
OPS_EVENTS = Node(
    "ops_events",
    "join",
    ("ops_events",),
    "Deployments and other operations, each once.",
    compute_sql,
    from_settings=SETTINGS_TABLES,
    span={"replica_names": event_hours},
)
COST_RECORDS = Node(
    "cost_records",
    "join",
    ("cost_records", "unused_cost_lines", "cost_line_rows"),
    "Lines of bills, each once, as their newest export gives them, and those that are in no number.",
    compute_sql,
    from_settings=SETTINGS_TABLES,
    from_batch={"source_files": source_files},
    beside=places,
    consults=("source_ledger", "source_places"),
)
TOKEN_PRICES = Node(
    "token_prices",
    "join",
    ("token_prices",),
    "Prices of tokens and when they hold.",
    compute_sql,
    from_settings=SETTINGS_TABLES,
    from_batch={"source_files": source_files},
    beside=places,
    consults=("source_ledger", "source_places"),
)
SESSION_LABELS = Node(
    "session_labels",
    "join",
    ("session_labels",),
    "Labels that judge whole sessions.",
    compute_sql,
    what_is_left=frozenset({"session_label_records"}),  # rows of it are rows of these
)

NODES = (
    JUDGED_HOURS,
    REPLICA_NAMES,
    JOIN,
    SAMPLES,
    LABEL_ROWS,
    RECORD_ROWS,
    OPS_EVENTS,
    COST_RECORDS,
    TOKEN_PRICES,
    SESSION_LABELS,
)
