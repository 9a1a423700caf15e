"""Takes in all that is new in the landing zone: scan, ingest file by file, ledger last, sweep what nothing owns."""

import time
from collections import Counter
from dataclasses import dataclass, field

import pyarrow.parquet as pq

from goodput.collect.received import LandedFile
from goodput.collect.scan import scan
from goodput.conform.ingest import ingest
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import Lake, delete
from goodput.plumbing.ledger import LedgerEntry, read_ledger, write_ledger
from goodput.plumbing.sql_files import connect
from goodput.plumbing.workspace import Workspace

TABLES = (
    *("serving_records", "span_links", "label_records", "sample_records", "event_records", "cost_lines", "price_lines"),
    "quarantine",
)
_LEDGER_EVERY_S = 30.0  # a run that dies has this much to do again


@dataclass
class TakenIn:
    """What a run took in: sources by what became of them, rows now in each table's new parts."""

    read: int = 0
    refused: int = 0
    unchanged: int = 0
    superseded: int = 0
    rows: Counter[str] = field(default_factory=Counter)


def take_in(workspace: Workspace) -> TakenIn:
    """Read every source of the landing zone that the ledger does not know (semantics 9).

    Raises LandingMissing, LakeUnwritable. Sources read before an interruption are in the ledger or simply read again.
    """
    lake = workspace.lake
    ledger = {key: entry for key, entry in read_ledger(lake).items() if entry.content_hash}
    found = scan(lake, workspace.settings, ledger)
    for source_id in found.superseded:  # first: not even a run that dies leaves a ledger with a file and its past
        del ledger[source_id]
    taken = TakenIn(unchanged=found.unchanged, superseded=len(found.superseded), refused=len(found.refused))
    ledger |= {entry.source_id: entry for entry in (_refused(file, reason) for file, reason in found.refused)}
    on_bytes = workspace.progress.measure("reading", sum(identity.size_bytes for _, identity in found.new))
    written = time.monotonic()
    with connect() as connection:
        for file, identity in found.new:
            entry = ingest(lake, file, identity, workspace.settings, connection, on_bytes=on_bytes)
            ledger[entry.source_id] = entry
            taken.read += entry.status == "read"
            taken.refused += entry.status == "refused"
            if time.monotonic() - written > _LEDGER_EVERY_S:
                write_ledger(lake, ledger.values())
                written = time.monotonic()
    write_ledger(lake, ledger.values())
    _sweep(lake, ledger, taken)
    return taken


def _refused(file: LandedFile, reason: str) -> LedgerEntry:
    return LedgerEntry(
        source_id=fingerprint(str(file.landing), file.relative_path, reason),
        content_hash="",
        path=file.relative_path,
        landing=str(file.landing),
        reader=file.reader,
        status="refused",
        reason=reason,
        size_bytes=0,
        ingested_ns=time.time_ns(),
    )


def _sweep(lake: Lake, ledger: dict[str, LedgerEntry], taken: TakenIn) -> None:
    """Remove parts of sources that were superseded or never finished; count the rows that stay."""
    for table in TABLES:
        paths = [path for found in lake.parts("conformed", table).values() for path in found]
        delete(path for path in paths if path.stem not in ledger)
        taken.rows[table] = sum(pq.read_metadata(path).num_rows for path in paths if path.stem in ledger)
