"""What of received rows never reaches the lake: identities that are hashed, dropped or erased; text of refused rows."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import polars as pl

from goodput.collect.received import RefusedRow
from goodput.plumbing.erased import Erased
from goodput.plumbing.pseudonyms import DROPPED, Pseudonyms
from goodput.settings.model import Settings

_IDENTITIES = ("tenant", "session_id")
_MEMBERS = {"serving_records": "attributes", "cost_lines": "tags", "sample_records": "labels"}


class Guard:
    """Applied to all rows before they are held to their contract."""

    def __init__(self, settings: Settings, erased: Erased | None = None) -> None:
        self._pseudonyms = Pseudonyms(settings, erased or Erased())
        self._keeps_text = settings.privacy.quarantine_text

    def rows(self, table: str, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows with identities as the settings say, without erased ones. Raises SecretUnusable."""
        if self._pseudonyms.keep_all:
            return frame
        frame = frame.with_columns(
            _mapped(frame[name], self._pseudonyms.of) for name in _IDENTITIES if name in frame.columns
        )
        if table == "label_records" and "subject_id" in frame.columns:
            of_session = pl.col("subject_kind") == "session"
            called = _mapped(frame["subject_id"], lambda text: self._pseudonyms.of(text) or DROPPED)
            frame = frame.with_columns(subject_id=pl.when(of_session).then(called).otherwise("subject_id"))
        members = _MEMBERS.get(table)
        return self._members(frame, members) if members in frame.columns else frame

    def refused(self, rows: Iterable[RefusedRow]) -> list[RefusedRow]:
        """Refused rows without their text, unless the settings keep it."""
        return [row if self._keeps_text else replace(row, excerpt=None) for row in rows]

    def _members(self, frame: pl.DataFrame, column: str) -> pl.DataFrame:
        called = _mapped(frame[column], self._pseudonyms.of_members)
        changed = called.ne_missing(frame[column])
        frame = frame.with_columns(called)
        if "series_id" in frame.columns and changed.any():  # a hash of all labels
            series = _mapped(frame["series_id"], self._pseudonyms.of_hash)
            series_id = pl.when(changed).then(series).otherwise("series_id")
            frame = frame.with_columns(series_id=series_id)
            record_id = pl.concat_str("series_id", pl.col("sampled_ns").cast(pl.String), separator=":")
            frame = frame.with_columns(record_id=record_id)
        return frame


def _mapped(values: pl.Series, of: Callable[[str], str | None]) -> pl.Series:
    """Each distinct text is asked for once."""
    texts = values.cast(pl.String)
    known = texts.drop_nulls().unique()
    called = pl.Series([of(text) for text in known], dtype=pl.String)
    return texts.replace_strict(known, called, default=None, return_dtype=pl.String).alias(values.name)
