"""Every asset of the pipeline, from the landing zone to deliveries, with what it is made from."""

from goodput.contracts import contract
from goodput.nodes import NODES
from goodput.plumbing.asset_checks import COMPLETE, DELIVERED, JUDGED, KNOWN, READ, UNQUARANTINED
from goodput.plumbing.plan import in_order
from goodput.plumbing.published_state import held_in_database, held_in_deliveries, held_in_landing
from goodput.plumbing.stored_assets import DATABASE, StoredAsset, assets_of, assets_of_layers
from goodput.settings.watched import watched_relations

LANDING = "landing"
_READ_BY_ALARMS = (*watched_relations(), "ops_events", "watermark")

FILES = StoredAsset(
    LANDING,
    "ingest",
    "collect",
    (),
    "Files of serving telemetry as the fleet emits them: OTLP, serving logs, quality labels.",
    check=None,
    kinds=("file",),
    look=held_in_landing,
)
_OF_SOURCES = {"source_ledger": READ, "source_places": KNOWN, "landed_files": KNOWN}
INGEST = assets_of_layers(
    "ingest",
    ("collected", "conformed"),
    [LANDING],
    "Reads what is new in the landing zone into rows by contract.",
    lambda table: _OF_SOURCES.get(table, UNQUARANTINED),
)
MADE = tuple(asset for node in in_order(NODES) for asset in assets_of(node))
ALARMS = assets_of_layers(
    "alarms",
    ("monitored",),
    _READ_BY_ALARMS,
    "Judges every alarm by what is published; events are only ever added.",
    lambda _: JUDGED,
)
PUBLISH = [
    StoredAsset(
        DATABASE,
        "publish",
        "publish",
        tuple(asset.name for asset in (*INGEST, *MADE, *ALARMS) if contract(asset.name).published != "no"),
        "goodput.duckdb: every public relation with its comments, brought up to what the lake holds.",
        COMPLETE,
        kinds=("duckdb",),
        look=held_in_database,
    )
]
DELIVER = [
    StoredAsset(
        "deliveries",
        "deliver",
        "notify",
        ("alarm_events", DATABASE),
        "What became of each alarm that was to be sent to the channels of the settings.",
        DELIVERED,
        kinds=("sqlite", "parquet"),
        look=held_in_deliveries,
    )
]
ASSETS = (FILES, *INGEST, *MADE, *ALARMS, *PUBLISH, *DELIVER)
