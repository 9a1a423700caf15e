"""Reads one file of OTLP into records, block by block, or whole where it is but one block."""

from collections.abc import Callable, Iterator

from goodput.collect.otlp.decode import OtlpBlock
from goodput.collect.otlp.framing import Framed
from goodput.collect.otlp.gather import gathered
from goodput.collect.otlp.read import OtlpReader
from goodput.collect.received import LandedFile, Received
from goodput.collect.spans import OtlpRecords
from goodput.collect.stopped import Stopped
from goodput.collect.unread import UnreadCalls
from goodput.collect.witness import Witness
from goodput.settings.model import Settings

READER = "otlp"
_made: list[tuple[Settings, OtlpRecords]] = []  # of the settings that were asked for last


def otlp_records(settings: Settings) -> OtlpRecords:
    """What OTLP is made into by these settings; of many small files it takes longer than the reading of one."""
    if not _made or _made[0][0] is not settings:
        _made[:] = [(settings, OtlpRecords(settings))]
    return _made[0][1]


class OtlpReading:
    """One OTLP file, block by block; see `received.SourceReading`."""

    def __init__(
        self,
        file: LandedFile,
        settings: Settings,
        on_bytes: Callable[[int], None] | None = None,
        witness: Witness | None = None,
    ) -> None:
        self._witness = witness
        self._unread = UnreadCalls()
        self._records = otlp_records(settings)
        decoder = self._records.decoder_of(every=True) if witness else self._records.decoder
        self._reader = OtlpReader(file.content, decoder, on_bytes)
        self.torn_tail_bytes = 0
        self.stopped: Stopped | None = None

    def only_block(self) -> Framed | None:
        """What lies in a file of one block, or of none: it is not iterated over then. Raises SourceRefused."""
        found = self._reader.only_block()
        if found is not None:
            self._end()
        return found

    def __iter__(self) -> Iterator[Received]:
        for block in gathered(self._reader):
            yield self._received(block)
        self._end()

    def _received(self, block: OtlpBlock) -> Received:
        return self._records.received(block, self._unread, self._witness)

    def _end(self) -> None:
        self.torn_tail_bytes = self._reader.torn_tail_bytes
        self.stopped = self._reader.stopped
