"""Opens a landed file with the reader that it calls for. Which reader that is was decided in `landing`."""

from collections.abc import Callable

from goodput.collect.received import LandedFile, Reading
from goodput.collect.spans import OtlpReading
from goodput.collect.tabular import read_table
from goodput.settings.model import Settings


def open_file(file: LandedFile, settings: Settings, on_bytes: Callable[[int], None] | None = None) -> Reading:
    """The file's rows block by block. Raises SourceRefused, now or while iterating, for a useless file."""
    if file.reader == "otlp":
        return OtlpReading(file, settings, on_bytes)
    return read_table(file, settings.sources[file.reader], settings.limits, on_bytes=on_bytes)
