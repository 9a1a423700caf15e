"""Files of Prometheus as sources: a saved scrape, or an answer of the HTTP API; each is read whole.

Their forms are `text` and `query_range`; what their metrics mean is the dialects'.
"""

from collections.abc import Callable, Iterator

import polars as pl

from goodput.collect.otlp.limits import EXCERPT_CHARACTERS, Limits
from goodput.collect.otlp.streams import ByteStream, compression_of
from goodput.collect.prometheus import query_range, repeated
from goodput.collect.prometheus.histograms import fold_histograms
from goodput.collect.received import LandedFile, Received, RefusedRow
from goodput.collect.samples import take_samples
from goodput.collect.series import histogram_names, is_left_out, metric_names
from goodput.collect.stopped import Stopped
from goodput.collect.witness import Witness
from goodput.errors import SourceRefused
from goodput.settings.model import Settings


class _WholeFile:
    """One file in one block; see `received.SourceReading`."""

    def __init__(
        self,
        file: LandedFile,
        settings: Settings,
        on_bytes: Callable[[int], None] | None = None,
        witness: Witness | None = None,
    ) -> None:
        self.torn_tail_bytes = 0
        self.stopped: Stopped | None = None
        self._file = file
        self._settings = settings
        self._on_bytes = on_bytes
        self._witness = witness

    def _content(self) -> str:
        path, most = self._file.content, self._settings.limits.max_line_bytes
        limits = Limits(most, self._settings.limits.max_decompressed_bytes)
        try:
            with path.open("rb") as file:
                compression = compression_of(file.read(4))
                file.seek(0)
                stream = ByteStream(file, compression, limits, self._on_bytes)
                content = stream.read(most + 1)
        except OSError as error:
            raise SourceRefused(path, f"cannot be read: {error.strerror or error}") from error
        if len(content) > most:
            raise SourceRefused(path, f"is longer than max_line_bytes ({most})")
        if stream.stopped or stream.truncated:
            self.stopped = stream.stopped or Stopped("the compressed data breaks off", 0)
            content = content[: content.rfind(b"\n") + 1]  # half a number is another number
        return content.decode("utf-8", errors="replace")


class ScrapeReading(_WholeFile):
    """A saved scrape of one target."""

    def __iter__(self) -> Iterator[Received]:
        """Its one block. Raises SourceRefused for a file without any sample."""
        content, scraped = self._content(), self._file.captures.get("scraped_ns")
        scrape = repeated.parse(content, metric_names(), histogram_names(), int(scraped) if scraped else None)
        if scrape.bad.height == scrape.samples > 0:
            raise SourceRefused(self._file.path, "does not look like a scrape: no line is a sample of a metric")
        received = Received(rows_read=scrape.samples)
        for line, found in scrape.bad.iter_rows():
            _refuse(received, line, 0, "not a sample of Prometheus text", found)
        received.ignore("part_of_reading", scrape.folded)
        unread = scrape.unread.with_columns(left_out=is_left_out(pl.col("name")))
        received.leave_out_metrics(unread)
        if self._witness:
            self._witness.metrics(unread.filter(~pl.col("left_out"))["name"])
        take_samples(received, scrape.readings, self._settings, "prometheus", self._file.captures["target"])
        yield received


class AnswerReading(_WholeFile):
    """An answer of Prometheus' HTTP API."""

    def __iter__(self) -> Iterator[Received]:
        """Its one block. Raises SourceRefused for what is no whole answer, or an error."""
        try:
            readings = query_range.parse(self._content())
        except query_range.NoAnswerError as error:
            raise SourceRefused(self._file.path, str(error)) from error
        if self._witness:
            self._witness.metrics(frozenset(readings["emitted"].drop_nulls()) - metric_names())
        received = Received(rows_read=readings.height)
        bad = pl.col("unreadable")
        for line, position, found in readings.filter(bad).select("line", "position", "text").iter_rows():
            _refuse(received, line, position, "not a time and a number", found)
        good = readings.filter(~bad).drop("unreadable", "text")
        folded = fold_histograms(good, histogram_names())
        received.ignore("part_of_reading", good.height - folded.height)
        take_samples(received, folded, self._settings, "query_range")
        yield received


def _refuse(received: Received, line: int, position: int, reason: str, found: str | None) -> None:
    excerpt = found and found[:EXCERPT_CHARACTERS]
    received.refused.append(RefusedRow(line, position, "sample_records", "line_unreadable", reason, excerpt))
