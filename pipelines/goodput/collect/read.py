"""Opens a landed file with the reader that it calls for: a source of the settings, else what its first bytes say."""

from collections.abc import Callable
from dataclasses import replace

from goodput.collect.declared import object_dialects
from goodput.collect.objects.read import ObjectReading
from goodput.collect.otlp.sniff import Head, read_head
from goodput.collect.otlp.streams import GZIP_MAGIC, ZSTD_MAGIC
from goodput.collect.otlp_reading import READER as OTLP
from goodput.collect.otlp_reading import OtlpReading
from goodput.collect.prometheus.query_range import is_answer
from goodput.collect.prometheus.reading import AnswerReading, ScrapeReading
from goodput.collect.prometheus.scrapes import READER as PROMETHEUS
from goodput.collect.received import UNCLAIMED, LandedFile, SourceReading
from goodput.collect.tabular import read_table
from goodput.collect.tabular.content import COMPRESSED_TWICE
from goodput.collect.witness import Witness
from goodput.errors import SourceRefused
from goodput.settings.model import Settings


def open_file(
    file: LandedFile, settings: Settings, on_bytes: Callable[[int], None] | None = None, witness: Witness | None = None
) -> tuple[LandedFile, SourceReading]:
    """The file with its reader, and its rows block by block; a `witness` sees what is in it.

    Raises SourceRefused, now or while iterating, for a useless file.
    """
    if file.reader == PROMETHEUS:
        return file, ScrapeReading(file, settings, on_bytes, witness)
    if file.reader != UNCLAIMED:
        source, kept = settings.sources[file.reader], settings.kept_attributes
        return file, read_table(file, source, settings.limits, kept=kept, on_bytes=on_bytes)
    try:
        head = read_head(file.content)
    except OSError as error:
        raise SourceRefused(file.path, f"cannot be read: {error.strerror or error}") from error
    if head.content.startswith((GZIP_MAGIC, ZSTD_MAGIC)):
        raise SourceRefused(file.path, COMPRESSED_TWICE)
    if _may_be_otlp(head):
        return replace(file, reader=OTLP), OtlpReading(file, settings, on_bytes, witness)
    if is_answer(head.content):
        return replace(file, reader="query_range"), AnswerReading(file, settings, on_bytes, witness)
    return replace(file, reader="objects"), ObjectReading(
        file, head, settings.limits, on_bytes, object_dialects(settings), settings.kept_attributes
    )


def _may_be_otlp(head: Head) -> bool:
    """Whether the file looks like OTLP, or there is nothing in it yet that could look like anything."""
    return head.framing is not None or not head.content
