"""Renames the identities that a lake holds to what `[privacy]` asks now, where it asked otherwise before.

Landing files are read anew by another choice, but what they gave does not all come from files that still lie there, and
what vanishes from published windows is kept in `restatements`. So all rows are renamed first, as `erase` does it.
"""

from collections.abc import Mapping

from goodput.conform.journal import PartChange, journaled, undo_unfinished
from goodput.contracts import stored_tables
from goodput.measure.gates import gate_rows
from goodput.measure.setting_rows import setting_rows
from goodput.plumbing.catalog import Part
from goodput.plumbing.database import publish
from goodput.plumbing.garbage import delete_replaced, note_replaced, sweep
from goodput.plumbing.identity_choice import Choice, read_choice, write_choice
from goodput.plumbing.identity_columns import IdentityColumns
from goodput.plumbing.lake import Lake
from goodput.plumbing.pseudonyms import Pseudonyms
from goodput.plumbing.rewritten import parts_with_rows, rewritten, rows_of
from goodput.plumbing.workspace import Workspace
from goodput.settings.model import Settings

_IN_WORDS = "warnings"  # whose messages name tenants; they are made from the renamed rows in the same run


def rename_identities(workspace: Workspace) -> dict[str, int]:
    """Rename what an earlier choice left, publish, and delete all that had the old names; rows renamed, by table.

    Nothing is done where the choice is the same. The caller holds the lake's lock. Where the process dies in between,
    the next call goes on. Raises LakeUnreadable, LakeUnwritable, SecretUnusable.
    """
    lake, pseudonyms = workspace.lake, Pseudonyms(workspace.settings)
    choice = read_choice(lake.root)
    if choice.is_of(pseudonyms):
        return {}
    renamed: dict[str, int] = {}
    if not pseudonyms.are_clear:
        note_replaced(lake, undo_unfinished(lake))
        renaming = _Renaming(lake, pseudonyms, choice.begun(pseudonyms))
        for table in stored_tables():
            rows = renaming.rename(table)
            if rows:
                renamed[table] = rows
        renaming.withdraw(_IN_WORDS)
        if lake.database.exists():
            publish(lake, gate_rows(workspace.settings), setting_rows(workspace.settings), anew=True)
        sweep(lake, anyway=True)
        delete_replaced(lake, at_once=True)
    write_choice(lake, choice.over(pseudonyms))
    return renamed


def renamed_line(settings: Settings, renamed: Mapping[str, int]) -> str:
    """What was done, in one line."""
    done = "pseudonyms by the key of now" if settings.privacy.identities == "hashed" else "none any more"
    return (
        f"Identities of an earlier choice: {sum(renamed.values()):,} row(s) of {len(renamed)} table(s) have {done}, "
        "and all files of the lake that had them otherwise are deleted."
    )


class _Renaming:
    """One way from a choice to another."""

    def __init__(self, lake: Lake, pseudonyms: Pseudonyms, choice: Choice) -> None:
        self._lake, self._pseudonyms, self._choice = lake, pseudonyms, choice
        self._has_another_key = choice.has_another_key(pseudonyms)

    def rename(self, table: str) -> int:
        """Rename the identities of one table in one commit; how many rows had any."""
        changes, rows = PartChange([], []), 0
        columns = IdentityColumns(table, self._pseudonyms.names, {})
        written = {*self._choice.written}
        for part in [*parts_with_rows(self._lake, table)] if columns.looked_at else ():
            if self._below(part) in written:
                continue
            found = self._renamed(table, part)
            if found is not None:
                changes.add.append(found[0])
                changes.remove.append(part)
                rows += found[1]
        if changes.remove:
            self._choice = self._choice.with_written([self._below(part) for part in changes.add])
            write_choice(self._lake, self._choice)
            note_replaced(self._lake, [part.path for part in changes.remove])
            with journaled(self._lake):  # a commit that a loss of power tears is then known as one
                self._lake.catalog[table].change(*changes)
        return rows

    def withdraw(self, table: str) -> None:
        """Take all rows of a computed table out, so that they are due again."""
        parts = [part for parts in self._lake.catalog[table].parts.values() for part in parts]
        if parts:
            note_replaced(self._lake, [part.path for part in parts])
            self._lake.catalog[table].change((), parts)

    def _renamed(self, table: str, part: Part) -> tuple[Part, int] | None:
        """The part with other names, and how many rows had another; None where none had."""
        seen = IdentityColumns(table, self._pseudonyms.names, {})
        looked_at = rows_of(self._lake, part, seen.looked_at)
        called = {name: self._called(name) for name in seen.identities(looked_at)}
        columns = IdentityColumns(
            table,
            self._pseudonyms.names,
            {name: other for name, other in called.items() if other != name},
            lambda series_id, _labels: self._pseudonyms.of_hash(series_id),
        )
        held = columns.holding(looked_at).num_rows + columns.texts(looked_at)
        if not held:
            return None
        rows = columns.without_texts(rows_of(self._lake, part))
        if None in called.values():  # of a slice, or hours of a session, that are nobody's nothing is left to say
            rows = rows.filter((~columns.about_identities(rows)).to_arrow())
        return rewritten(self._lake, table, part, columns.renamed(rows)), held

    def _called(self, identity: str) -> str | None:
        return self._pseudonyms.of_kept(identity, by_another_key=self._has_another_key)

    def _below(self, part: Part) -> str:
        return part.path.relative_to(self._lake.root).as_posix()
