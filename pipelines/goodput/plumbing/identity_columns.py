"""Where rows of a table hold identities of tenants, users and sessions, by names of columns; and renames them."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from goodput.plumbing.contracts import contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.settings.columns import ATTRIBUTE

_ALWAYS = ("tenant", "session_id")
_BY_KIND = {"subject_id": "subject_kind", "slice_value": "slice"}  # an identity by what another column says
_MEMBERS = ("attributes", "tags", "labels")  # JSON objects
ORDERING = (*_ALWAYS, *_BY_KIND, "series_id")  # rows in the order of one of these are in another once it is renamed
_TEXT = "excerpt"  # of a row that could not be used: it is kept whole or not at all


@dataclass(frozen=True)
class IdentityColumns:
    """Those of one table. `names` are names of attributes, tags and labels whose values are identities; `called` is
    what the identities that are looked for are called instead."""

    table: str
    names: Collection[str]
    called: Mapping[str, str]

    @property
    def looked_at(self) -> list[str]:
        """The columns that tell whether a row holds an identity, in the contract's order; empty where none can."""
        may_hold = (*_ALWAYS, *_BY_KIND, *_MEMBERS, _TEXT)
        columns = [column.name for column in contract(self.table).columns]
        kinds = [kind for name, kind in _BY_KIND.items() if name in columns]
        return [name for name in columns if name in (*may_hold, *kinds)]

    def holding(self, rows: pa.Table) -> pa.Table:
        """Those of some rows, with the columns that are looked at, that hold one of the identities."""
        is_held = [after.ne_missing(_series(rows, name)) for name, after in self._changed(rows).items()]
        if not is_held:
            return rows.slice(0, 0)
        return rows.filter(pl.DataFrame(is_held).select(pl.any_horizontal(pl.all())).to_series().to_arrow())

    def renamed(self, rows: pa.Table) -> pa.Table:
        """Whole rows with the identities called otherwise."""
        changed = self._changed(rows)
        for name, series in {**changed, **_of_series(rows, changed)}.items():
            at = rows.schema.get_field_index(name)
            field = rows.schema.field(at)
            rows = rows.set_column(at, field, series.to_arrow().cast(field.type))
        return rows

    def _changed(self, rows: pa.Table) -> dict[str, pl.Series]:
        """The columns that change, as they become."""
        before = {name: _series(rows, name) for name in self.looked_at if name in rows.column_names}
        found = {name: self._column(name, before) for name in before if name not in _BY_KIND.values()}
        return {name: after for name, after in found.items() if after.ne_missing(before[name]).any()}

    def _column(self, name: str, before: Mapping[str, pl.Series]) -> pl.Series:
        values = before[name]
        if name in _MEMBERS:
            return _by_text(values, self._in_object)
        if name == _TEXT:
            return _by_text(values, lambda text: None if any(one in text for one in self.called) else text)
        renamed = values.replace(dict(self.called))
        return renamed.zip_with(self._is_identity(before[_BY_KIND[name]]), values) if name in _BY_KIND else renamed

    def _is_identity(self, kinds: pl.Series) -> pl.Series:
        """Whether what a label judges, or by what a slice cuts, is an identity."""
        cuts = [f"{ATTRIBUTE}{name}" for name in self.names]
        return kinds.is_in(["session", "tenant", *cuts]).fill_null(value=False)

    def _in_object(self, text: str) -> str:
        members = json.loads(text)
        found = {name for name in members.keys() & self.names if str(members[name]) in self.called}
        if not found:
            return text
        given = {name: self.called[str(value)] if name in found else value for name, value in members.items()}
        return json.dumps(given, ensure_ascii=False, separators=(",", ":"))


def _of_series(rows: pa.Table, changed: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """Of readings whose labels are renamed other ids: a hash of the labels as they were would give them away."""
    if "labels" not in changed or "series_id" not in rows.column_names:
        return {}
    labels, before = changed["labels"], _series(rows, "series_id")
    is_changed = labels.ne_missing(_series(rows, "labels"))
    pairs = zip(before, labels, is_changed, strict=True)
    ids = pl.Series([fingerprint(one, text) if is_other else one for one, text, is_other in pairs], dtype=pl.String)
    found = {"series_id": ids}
    if "record_id" in rows.column_names:
        by_time = ids + ":" + _series(rows, "sampled_ns").cast(pl.String)
        found["record_id"] = by_time.zip_with(is_changed, _series(rows, "record_id"))
    return found


def _series(rows: pa.Table, name: str) -> pl.Series:
    return pl.Series(name, rows.column(name))


def _by_text(texts: pl.Series, of: Callable[[str], str | None]) -> pl.Series:
    """Each distinct text is asked for once."""
    known = texts.drop_nulls().unique()
    called = pl.Series([of(text) for text in known], dtype=pl.String)
    return texts.replace_strict(known, called, default=None, return_dtype=pl.String)
