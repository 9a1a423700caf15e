"""What the settings and the source ledger say to the join, as relations that its SQL reads."""

from collections.abc import Mapping
from datetime import UTC, datetime, time

import polars as pl
import pyarrow as pa

from goodput.join.workloads import workload_rows
from goodput.plumbing import source_ledger, source_places
from goodput.plumbing.node import Batch, Context, SettingsTable
from goodput.plumbing.parameters import COST_SCOPES, as_rows
from goodput.settings.model import Settings

_DATED_BY_PATH = ("cost_lines", "price_lines")
_KNOWN_BY = ["source_id", "content_hash", "decoded_hash", "ingested_ns"]
_PLAIN_PATH = pl.col("path").str.replace(r"(?i)\.(gz|gzip|zst|zstd)$", "")  # a file's, and its compressed copies'


def options(settings: Settings) -> pa.Table:
    """Origin of latencies, and how far apart records of one request and labels may lie."""
    return as_rows(
        "options",
        {
            "latency_origin": settings.latency_origin,
            "max_request_lifetime_ns": round(settings.max_request_lifetime_s * 1e9),
            "label_lateness_ns": round(settings.label_lateness_s * 1e9),
        },
    )


def match_options(settings: Settings) -> pa.Table:
    """The attributes that records have alike which are matched by time alone."""
    return as_rows("match_options", {"within": list(settings.match_within)})


def observed(context: Context, _batch: Batch) -> pa.Table:
    """Until when telemetry was observed."""
    return as_rows("observed", {"observed_until_ns": context.observed_ns[1]})


def sample_options(settings: Settings) -> pa.Table:
    """How long a reading stays true."""
    return as_rows("sample_options", {"staleness_ns": round(settings.staleness_s * 1e9)})


def event_subjects(settings: Settings) -> pa.Table:
    """Which pool and replica the subjects of ops events are."""
    pools, replicas = settings.events.pools, settings.events.replicas
    subjects = sorted({*pools, *replicas})
    rows = [{"subject": name, "pool": pools.get(name), "replica": replicas.get(name)} for name in subjects]
    return as_rows("event_subjects", *rows)


def replica_labels(settings: Settings) -> pa.Table:
    """Labels of metrics that name their replica."""
    return as_rows("replica_labels", *({"label": label} for label in settings.metric_labels.replica))


def declared_names(settings: Settings) -> pa.Table:
    """Other names of replicas."""
    declared = {name: replica for replica, other in settings.replicas.items() for name in other.names}
    return as_rows("declared_names", *({"name": name, "replica": declared[name]} for name in sorted(declared)))


def declared_models(settings: Settings) -> pa.Table:
    """Models of replicas that name none."""
    rows = [
        {"ordinal": n, "pool": list(item.pool) or None, "replica": list(item.replica) or None, "model": item.model}
        for n, item in enumerate(settings.served_models.values())
    ]
    return as_rows("declared_models", *rows)


def cost_rules(settings: Settings) -> pa.Table:
    """Which tags of a bill's lines name what they are for, and which lines count."""
    costs = settings.costs
    tags = {f"{name}_tags": list(getattr(costs, f"{name}_tags")) for name in COST_SCOPES}
    chosen = {name: list(getattr(costs, name)) or None for name in ("services", "sub_accounts")}
    return as_rows("cost_rules", {**tags, **chosen})


def exchange_rates(settings: Settings) -> pa.Table:
    """US dollars for one unit of each other currency."""
    rates = settings.costs.currencies
    return as_rows("exchange_rates", *({"currency": name, "usd": rates[name]} for name in sorted(rates)))


def price_rules(settings: Settings) -> pa.Table:
    """From when a price list holds whose path has no date."""
    begin = settings.prices.valid_from
    return as_rows("price_rules", {"valid_from": begin and datetime.combine(begin, time(), UTC)})


def source_files(context: Context, _batch: Batch | None = None) -> pa.Table:
    """Place, content and reader of every source, and how it was read; a row for each place where it lies or lay."""
    lake = context.lake
    home = _with_decoded(source_ledger.read_frame(lake, ["landing", "path", "reader", "reason", *_KNOWN_BY]))
    home = home.with_columns(is_whole=pl.col("reason").is_null()).drop("reason")
    lain = _in_present_zones(_lain(home, source_places.read(lake)), context.settings).unique()
    columns = ["source_id", "landing", "path", "plain_path", "content_hash", "reader", "ingested_ns", "is_whole"]
    return lain.with_columns(plain_path=_PLAIN_PATH).select(*columns, "is_past").to_arrow()


def _lain(home: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Sources at the places where they were read and at all others, with `is_past`."""
    read = home.join(places, on=source_places.KEY, how="left").with_columns(pl.col("is_past").fill_null(value=False))
    beside = places.join(home, on=source_places.KEY, how="anti").join(home.drop("landing", "path"), on="source_id")
    return pl.concat([read, beside.select(read.columns)])


def _with_decoded(sources: pl.DataFrame) -> pl.DataFrame:
    """With the hash of what a file and its compressed copy hold alike in the place of that of their bytes."""
    return sources.with_columns(content_hash=pl.coalesce("decoded_hash", "content_hash")).drop("decoded_hash")


def _in_present_zones(places: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Places below landing zones as these are called now: the folder of the settings may have been moved or copied.

    A zone below that folder was never moved with it: it is one that the settings had, or do not have yet.
    """
    present, here = settings.landing_names, f"{settings.base}/"
    names = {f"/{entry}": name for entry, name in zip(settings.landing, present, strict=True) if entry not in present}
    moved = {}
    for landing in places["landing"].unique():
        fitting = [entry for entry in names if landing.endswith(entry)]
        if fitting and landing not in present and not landing.startswith(here):
            moved[landing] = names[max(fitting, key=len)]
    return places.with_columns(pl.col("landing").replace(moved))


def places(context: Context, _partition: str) -> object:
    """Where else bills and price lists lie or lay, whose paths say what they are; in which order one path held them.

    A file and its compressed copy have one path, and one content wherever they lie.
    """
    columns = ["landing", "path", "partitions", *_KNOWN_BY]
    dated = _with_decoded(source_ledger.read_frame(context.lake, columns)).filter(
        pl.any_horizontal(pl.col("partitions").str.contains(f'"{table}"', literal=True) for table in _DATED_BY_PATH)
    )
    copies = source_places.read(context.lake).join(dated, on="source_id", how="semi")
    order = ["landing", "path", "ingested_ns", "source_id"]
    lain = _in_present_zones(_lain(dated.select(order), copies).select(order), context.settings).unique()
    lain = lain.with_columns(path=_PLAIN_PATH)
    several = lain.filter(pl.len().over("landing", "path") > 1).sort(order)
    alike = dated.filter(pl.len().over("content_hash") > 1).sort("content_hash", "ingested_ns", "source_id")
    orders = [*several["source_id"].to_list(), *alike["source_id"].to_list()]
    return sorted(copies.select(*source_places.KEY, "is_past").iter_rows()), orders


SETTINGS_TABLES: Mapping[str, SettingsTable] = {
    "options": options,
    "match_options": match_options,
    "workload_rules": workload_rows,
    "sample_options": sample_options,
    "event_subjects": event_subjects,
    "replica_labels": replica_labels,
    "declared_names": declared_names,
    "declared_models": declared_models,
    "cost_rules": cost_rules,
    "exchange_rates": exchange_rates,
    "price_rules": price_rules,
}
