"""Where rows of a table hold identities of tenants, users and sessions, by names of columns; and renames them."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from goodput.contracts import contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.pseudonyms import DROPPED
from goodput.settings.columns import ATTRIBUTE
from goodput.settings.slice_names import WITHIN_WORKLOAD

_ALWAYS = ("tenant", "cell_tenant", "session_id")
_BY_KIND = {"subject_id": "subject_kind", "slice_value": "slice"}  # an identity by what another column says
_NO_VALUES = ("unknown", "(other)")  # what windows of a slice say that are of no one identity
_OF_NOBODY = {"subject_id": DROPPED}  # a label says whom it judges
_MEMBERS = ("attributes", "tags", "labels")  # JSON objects
ORDERING = (*_ALWAYS, *_BY_KIND, "series_id")  # rows in the order of one of these are in another once it is renamed
_TEXT = "excerpt"  # of a row that could not be used: it is kept whole or not at all


@dataclass(frozen=True)
class IdentityColumns:
    """Those of one table. `names` are names of attributes, tags and labels whose values are identities; `called` is
    what the identities that are looked for are called instead, None: nothing; `series_of` gives the id of readings
    whose labels are renamed, of the earlier one and the labels."""

    table: str
    names: Collection[str]
    called: Mapping[str, str | None]
    series_of: Callable[[str, str], str] = fingerprint

    @property
    def looked_at(self) -> list[str]:
        """The columns that tell whether a row holds an identity, in the contract's order; empty where none can."""
        may_hold = (*_ALWAYS, *_BY_KIND, *_MEMBERS, _TEXT)
        columns = [column.name for column in contract(self.table).columns]
        kinds = [kind for name, kind in _BY_KIND.items() if name in columns]
        return [name for name in columns if name in (*may_hold, *kinds)]

    def identities(self, rows: pa.Table) -> set[str]:
        """All identities in some rows, with the columns that are looked at."""
        before = self._before(rows)
        found: set[str] = set()
        for name, values in before.items():
            if name in _MEMBERS:
                for text in values.drop_nulls().unique():
                    members = json.loads(text)
                    found.update(str(members[one]) for one in members.keys() & self.names if members[one] is not None)
            elif name in _BY_KIND:
                of_one = self._is_identity(before[_BY_KIND[name]]) & ~values.is_in(_NO_VALUES)
                found.update(values.filter(of_one).drop_nulls())
            elif name in _ALWAYS:
                found.update(values.drop_nulls())
        return found

    def about_identities(self, rows: pa.Table) -> pl.Series:
        """Of each row whether it is there for one identity alone: of a slice by it, or of a session's hours."""
        before, keys = self._before(rows), contract(self.table).primary_key
        is_about = _constant(False, rows.num_rows)
        if "slice_value" in keys:
            is_value = ~before["slice_value"].is_in(_NO_VALUES).fill_null(value=True)
            is_about |= self._is_identity(before["slice"]) & is_value
        if "session_id" in keys:
            is_about |= before["session_id"].is_not_null()
        return is_about

    def holding(self, rows: pa.Table) -> pa.Table:
        """Those of some rows, with the columns that are looked at, that hold one of the identities."""
        is_held = [after.ne_missing(_series(rows, name)) for name, after in self._changed(rows).items()]
        if not is_held:
            return rows.slice(0, 0)
        return rows.filter(pl.DataFrame(is_held).select(pl.any_horizontal(pl.all())).to_series().to_arrow())

    def texts(self, rows: pa.Table) -> int:
        """How many of some rows have text as it was received, in which any identity may be."""
        return rows.num_rows - rows.column(_TEXT).null_count if _TEXT in rows.column_names else 0

    def without_texts(self, rows: pa.Table) -> pa.Table:
        """Whole rows without that text."""
        if _TEXT not in rows.column_names:
            return rows
        at = rows.schema.get_field_index(_TEXT)
        field = rows.schema.field(at)
        return rows.set_column(at, field, pa.nulls(rows.num_rows, field.type))

    def renamed(self, rows: pa.Table) -> pa.Table:
        """Whole rows with the identities called otherwise."""
        changed = self._changed(rows)
        for name, series in {**changed, **self._of_series(rows, changed)}.items():
            at = rows.schema.get_field_index(name)
            field = rows.schema.field(at)
            rows = rows.set_column(at, field, series.to_arrow().cast(field.type))
        return rows

    def _changed(self, rows: pa.Table) -> dict[str, pl.Series]:
        """The columns that change, as they become."""
        before = self._before(rows)
        found = {name: self._column(name, before) for name in before if name not in _BY_KIND.values()}
        return {name: after for name, after in found.items() if after.ne_missing(before[name]).any()}

    def _before(self, rows: pa.Table) -> dict[str, pl.Series]:
        return {name: _series(rows, name) for name in self.looked_at if name in rows.column_names}

    def _column(self, name: str, before: Mapping[str, pl.Series]) -> pl.Series:
        values = before[name]
        if name in _MEMBERS:
            return _by_text(values, self._in_object)
        if name == _TEXT:
            return _by_text(values, lambda text: None if any(one in text for one in self.called) else text)
        renamed = values.replace([*self.called], pl.Series([*self.called.values()], dtype=pl.String))
        if name in _OF_NOBODY:
            renamed = renamed.zip_with(
                renamed.is_not_null() | values.is_null(), _constant(_OF_NOBODY[name], len(values))
            )
        return renamed.zip_with(self._is_identity(before[_BY_KIND[name]]), values) if name in _BY_KIND else renamed

    def _is_identity(self, kinds: pl.Series) -> pl.Series:
        """Whether what a label judges, or by what a slice cuts, is an identity."""
        cuts = ["tenant", *(f"{ATTRIBUTE}{name}" for name in self.names)]
        within = [f"{WITHIN_WORKLOAD}{cut}" for cut in cuts]
        return kinds.is_in(["session", *cuts, *within]).fill_null(value=False)

    def _in_object(self, text: str) -> str:
        members = json.loads(text)
        found = {name for name in members.keys() & self.names if str(members[name]) in self.called}
        if not found:
            return text
        given = {name: self.called[str(value)] if name in found else value for name, value in members.items()}
        given = {name: value for name, value in given.items() if name not in found or value is not None}
        return json.dumps(given, ensure_ascii=False, separators=(",", ":"))

    def _of_series(self, rows: pa.Table, changed: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
        """Of readings whose labels are renamed other ids: a hash of the labels as they were would give them away."""
        if "labels" not in changed or "series_id" not in rows.column_names:
            return {}
        labels, before = changed["labels"], _series(rows, "series_id")
        is_changed = labels.ne_missing(_series(rows, "labels"))
        pairs = zip(before, labels, is_changed, strict=True)
        ids = pl.Series(
            [self.series_of(one, text) if is_other else one for one, text, is_other in pairs], dtype=pl.String
        )
        found = {"series_id": ids}
        if "record_id" in rows.column_names:
            by_time = ids + ":" + _series(rows, "sampled_ns").cast(pl.String)
            found["record_id"] = by_time.zip_with(is_changed, _series(rows, "record_id"))
        return found


def _constant(value: object, rows: int) -> pl.Series:
    return pl.Series([value]).new_from_index(0, rows)


def _series(rows: pa.Table, name: str) -> pl.Series:
    return pl.Series(name, rows.column(name))


def _by_text(texts: pl.Series, of: Callable[[str], str | None]) -> pl.Series:
    """Each distinct text is asked for once."""
    known = texts.drop_nulls().unique()
    called = pl.Series([of(text) for text in known], dtype=pl.String)
    return texts.replace_strict(known, called, default=None, return_dtype=pl.String)
