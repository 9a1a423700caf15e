"""Bytes of a stream that can be looked at before they are taken. What they mean is not known here."""

from goodput.collect.otlp.streams import ByteStream


class Ahead:
    """The bytes of a stream from `at` on, as far as they are in memory."""

    def __init__(self, stream: ByteStream, read_bytes: int) -> None:
        self.data = b""
        self.at = 0
        self._stream = stream
        self._read_bytes = read_bytes

    @property
    def left(self) -> int:
        """How many bytes from `at` on are in memory."""
        return len(self.data) - self.at

    def has(self, size: int) -> bool:
        """Whether so many bytes follow; then they are in memory, else all that follow are."""
        while self.left < size:
            chunk = self._stream.read(max(self._read_bytes, size - self.left))
            if not chunk:
                return False
            self.data, self.at = self.data[self.at :] + chunk, 0
        return True

    def peek(self, start: int, size: int) -> bytes:
        """The bytes from so many after `at` on that are in memory."""
        return self.data[self.at + start : self.at + start + size]

    def take(self, size: int) -> bytes:
        """The next bytes, so many that are in memory."""
        self.at += size
        return self.data[self.at - size : self.at]

    def pass_over(self, size: int | None = None) -> int:
        """Leave so many bytes behind, None: all, and keep none of them; how many there were."""
        passed = 0
        while size is None or passed < size:
            if not self.has(1):
                break
            step = self.left if size is None else min(self.left, size - passed)
            self.at += step
            passed += step
        return passed
