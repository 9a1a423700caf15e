"""Erases identities of tenants, users and sessions from a lake: rows stay, and are nobody's any more.

Each identity gets a random name, the same in every table, which is then forgotten. All that joins goes on joining, so
no number changes, in closed hours either. Of files that are read again the identity is dropped.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from unicodedata import normalize

from goodput.collect.listing import landed_file
from goodput.conform.journal import PartChange, journaled, undo_unfinished
from goodput.contracts import contract, stored_tables
from goodput.errors import IdentityInSettings
from goodput.globs import matches_any
from goodput.measure.gates import gate_rows
from goodput.measure.setting_rows import setting_rows
from goodput.plumbing import source_ledger, source_places
from goodput.plumbing.catalog import Part
from goodput.plumbing.database import publish
from goodput.plumbing.erased import NAMED, read_erased, write_erased
from goodput.plumbing.garbage import delete_replaced, note_replaced, sweep
from goodput.plumbing.identity_columns import IdentityColumns
from goodput.plumbing.lake import Lake
from goodput.plumbing.pseudonyms import Pseudonyms
from goodput.plumbing.rewritten import parts_with_rows, rewritten, rows_of
from goodput.plumbing.row_table import read_rows
from goodput.plumbing.sql_files import connect, parquet
from goodput.plumbing.store import bucket_of
from goodput.plumbing.workspace import Workspace
from goodput.settings.lake_address import url_of
from goodput.settings.model import Settings

_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
_PLACES = (source_ledger.TABLE, source_places.TABLE, "landed_files")


@dataclass(frozen=True)
class FoundIdentities:
    """Where identities are: rows of each table, and the files that these rows were read from."""

    rows: Mapping[str, int]
    parts: Mapping[str, list[Part]]
    files: list[Path | str]


def find(workspace: Workspace, identities: Collection[str]) -> FoundIdentities:
    """Where the lake has rows of some identities, once what a run left unfinished is taken back.

    The caller holds its lock. Raises IdentityInSettings, LakeUnreadable, SecretUnusable.
    """
    lake = workspace.lake
    note_replaced(lake, undo_unfinished(lake))
    called = dict.fromkeys(_as_kept(workspace, identities), "")
    selecting = sorted(_selecting(workspace.settings, called))
    if selecting:
        raise IdentityInSettings(selecting)
    rows: dict[str, int] = {}
    parts: dict[str, list[Part]] = {}
    for table in stored_tables():
        columns = _columns(workspace, table, called)
        for part in parts_with_rows(lake, table) if columns.looked_at else ():
            held = columns.holding(rows_of(lake, part, columns.looked_at)).num_rows
            if held:
                rows[table] = rows.get(table, 0) + held
                parts.setdefault(table, []).append(part)
    return FoundIdentities(rows, parts, _files(workspace, parts, called))


def otherwise_written(workspace: Workspace, identities: Collection[str]) -> list[str]:
    """Ids in the lake that read like some identities, and are other characters: ids are the same by their bytes alone.

    The caller holds its lock. Raises what `find` does.
    """
    forms = {normalize(form, one) for form in _FORMS for one in identities if not one.isascii()}
    return [form for form in sorted(forms - {*identities}) if find(workspace, [form]).rows]


def erase(workspace: Workspace, identities: Collection[str], found: FoundIdentities) -> None:
    """Give them names that say nothing, publish, and delete all that had the old ones.

    The caller holds the lake's lock. Where the process dies in between, the same call goes on with the same names.
    Raises LakeUnreadable, LakeUnwritable.
    """
    lake = workspace.lake
    wanted = _as_kept(workspace, identities)
    erased = read_erased(lake.root).with_names_for(wanted)
    write_erased(lake, erased)
    called = {identity: erased.name_of(identity) for identity in wanted}
    with journaled(lake):  # a commit that a loss of power tears is then known as one
        for table, parts in sorted(found.parts.items(), key=_conformed_last):
            columns = _columns(workspace, table, called)
            renamed = (rewritten(lake, table, part, columns.renamed(rows_of(lake, part))) for part in parts)
            change = PartChange([*renamed], parts)
            note_replaced(lake, [part.path for part in parts])
            lake.catalog[table].change(*change)
    publish(lake, gate_rows(workspace.settings), setting_rows(workspace.settings), anew=True)
    sweep(lake, anyway=True)
    delete_replaced(lake, at_once=True)
    write_erased(lake, erased.without_names)


def _conformed_last(of_table: tuple[str, list[Part]]) -> bool:
    """Their rows tell which files are to be cleaned too: also to who goes on with what died."""
    return contract(of_table[0]).layer == "conformed"


def _as_kept(workspace: Workspace, identities: Iterable[str]) -> list[str]:
    """What the identities are called in the lake, and as they are: both may be there after a change of the settings."""
    pseudonyms = Pseudonyms(workspace.settings)
    return sorted({*identities, *(name for name in map(pseudonyms.of, identities) if name)})


def _selecting(settings: Settings, identities: Iterable[str]) -> Iterator[str]:
    """Keys of the settings by which a workload selects some identities, and would not under other names."""
    pseudonyms = Pseudonyms(settings)
    for workload, given in settings.workloads.items():
        of_people = {k: globs for k, globs in given.match.attributes.items() if k in pseudonyms.names}
        by = {"tenant": given.match.tenant} | {f"attributes.{name}": globs for name, globs in of_people.items()}
        for key, globs in by.items():
            narrow = [glob for glob in (*globs, *pseudonyms.of_globs(globs)) if not matches_any(NAMED, [glob])]
            if any(matches_any(one, narrow) for one in identities):
                yield f"workloads.{workload}.match.{key}"


def _columns(workspace: Workspace, table: str, called: Mapping[str, str]) -> IdentityColumns:
    return IdentityColumns(table, Pseudonyms(workspace.settings).names, called)


def _files(workspace: Workspace, parts: Mapping[str, list[Part]], called: Mapping[str, str]) -> list[Path | str]:
    """The landing files and objects that rows with the identities were read from, and that are still there."""
    ids: set[str] = set()
    for table in parts:
        if contract(table).layer == "conformed":
            columns = _columns(workspace, table, called)
            for part in parts[table]:
                rows = columns.holding(rows_of(workspace.lake, part, ["source_id", *columns.looked_at]))
                ids.update(rows.column("source_id").to_pylist())
    columns_of_place = ["source_id", "landing", "path"]  # where it was read, where copies lay, where all lay at last
    known = [read_rows(workspace.lake, table, columns_of_place) for table in _PLACES]
    places = {(landing, path) for rows in known for one, landing, path in rows.iter_rows() if one in ids}
    return sorted({place for landing, path in places if (place := _lying(landing, path))}, key=str)


def _lying(landing: str, path: str) -> Path | str | None:
    """Where a file or an object still lies, None where it does not."""
    if url_of(landing):
        return f"{landing}/{path}" if bucket_of(landing).has(path) else None
    place = landed_file(Path(landing), path).path
    return place if place.exists() else None


def mentions(lake: Lake, identities: Iterable[str]) -> dict[str, int]:
    """Rows by column, and files, in whose text identities occur: nothing says there that it is they who are meant."""
    found: dict[str, int] = {}
    for identity in identities:
        for table in stored_tables():
            for name, rows in _mentioning(lake, table, identity).items():
                found[name] = found.get(name, 0) + rows
        for path in sorted(lake.root.iterdir()):
            if path.is_file() and path != lake.database and identity.encode() in path.read_bytes():
                found[path.name] = found.get(path.name, 0) + 1
    return found


def _mentioning(lake: Lake, table: str, identity: str) -> dict[str, int]:
    files = lake.catalog[table].all_files()
    if not files:
        return {}
    with connect() as connection:
        columns = connection.execute(f"DESCRIBE FROM {parquet(files)}").fetchall()
        names = [name for name, kind, *_ in columns if kind == "VARCHAR"]
        if not names:
            return {}
        counts = ", ".join(f'count(*) FILTER (WHERE contains("{name}", $identity))' for name in names)
        row = connection.execute(f"SELECT {counts} FROM {parquet(files)}", {"identity": identity}).fetchone()  # noqa: S608
    return {f"{table}.{name}": count for name, count in zip(names, row or (), strict=True) if count}
