"""Every asset of the pipeline, from the landing zone to deliveries, with what it is made from."""

from goodput.contracts import contract
from goodput.nodes import NODES
from goodput.plumbing.plan import in_order
from goodput.plumbing.published_state import held_in_database, held_in_deliveries
from goodput.plumbing.stored_assets import DATABASE, StoredAsset, assets_of, assets_of_layers
from goodput.settings.watched import watched_relations

LANDING = "landing"
_READ_BY_ALARMS = (*watched_relations(), "ops_events", "watermark")

INGEST = assets_of_layers(
    "ingest", ("collected", "conformed"), [LANDING], "Reads what is new in the landing zone into rows by contract."
)
MADE = tuple(asset for node in in_order(NODES) for asset in assets_of(node))
ALARMS = assets_of_layers(
    "alarms", ("monitored",), _READ_BY_ALARMS, "Judges every alarm by what is published; events are only ever added."
)
PUBLISH = [
    StoredAsset(
        DATABASE,
        "publish",
        "publish",
        tuple(asset.name for asset in (*INGEST, *MADE, *ALARMS) if contract(asset.name).published != "no"),
        "goodput.duckdb: every public relation with its comments, brought up to what the lake holds.",
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
        kinds=("sqlite", "parquet"),
        look=held_in_deliveries,
    )
]
ASSETS = (*INGEST, *MADE, *ALARMS, *PUBLISH, *DELIVER)
