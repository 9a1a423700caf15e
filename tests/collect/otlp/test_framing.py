import gzip
import io
import itertools
import os
import random
import resource
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collect.otlp.encode import length_prefixed
from collect.otlp.files import GOOD, read_bytes, read_path, span_line
from goodput.collect.otlp import frame_search
from goodput.collect.otlp.decode import OtlpDecoder
from goodput.collect.otlp.framing import Framing, LineBlock
from goodput.collect.otlp.limits import Limits
from goodput.collect.otlp.line_framing import LineFramer
from goodput.collect.otlp.message_framing import MessageFramer
from goodput.collect.otlp.read import OtlpReader
from goodput.collect.otlp.sniff import sniff
from goodput.collect.otlp.streams import ByteStream
from goodput.collect.stopped import Stopped
from goodput.errors import SourceRefused

LINES = [span_line(f'"name":"n{number}"') for number in range(40)]
PLAIN = b"".join(line + b"\n" for line in LINES)


def _message(name: str) -> bytes:
    data = TracesData()
    span = data.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id, span.name = b"t" * 16, b"s" * 8, name
    return data.SerializeToString()


MESSAGES = [_message(f"n{number}") for number in range(40)]
PREFIXED = length_prefixed(MESSAGES)
FRAMING = Framing("none", "lengths", "protobuf")
zstd = zstandard.ZstdCompressor().compress
FORMS: dict[str, bytes] = {
    "json": PLAIN,
    "json.gz": gzip.compress(PLAIN),
    "json.gz, two members": gzip.compress(PLAIN[:100]) + gzip.compress(PLAIN[100:]),
    "json.gz, padded": gzip.compress(PLAIN) + bytes(5000),
    "json.zst": zstd(PLAIN),
    "json.zst, two frames and a skippable one": zstd(PLAIN[:99]) + b"\x50\x2a\x4d\x18\x03\0\0\0abc" + zstd(PLAIN[99:]),
    "json, each message zstd": length_prefixed(zstd(line) for line in LINES),
    "json, lengths": length_prefixed(LINES),
    "json, indented, lengths": length_prefixed(line.replace(b"[", b"[\n ") for line in LINES),
    "proto": PREFIXED,
    "proto.gz": gzip.compress(PREFIXED),
    "proto.zst": zstd(PREFIXED),
    "proto, each message zstd": length_prefixed(zstd(message) for message in MESSAGES),
    "proto, each message zstd, .gz": gzip.compress(length_prefixed(zstd(message) for message in MESSAGES)),
}


@pytest.mark.parametrize("form", FORMS)
def test_trap_4_every_framing_and_compression_gives_the_same_spans(tmp_path: Path, form: str) -> None:
    outcome = read_bytes(tmp_path, FORMS[form])
    assert [(row["line"], row["position"], row["name"]) for row in outcome.spans] == [
        (number + 1, 0, f"n{number}") for number in range(40)
    ]
    assert (outcome.lines, outcome.bad_lines) == (40, [])
    assert (outcome.reader.stopped, outcome.reader.truncated, outcome.reader.torn_tail_bytes) == (None, False, 0)


@pytest.mark.parametrize("block_bytes", [1, 7, 150, 1000, 100_000])
def test_blocks_of_any_size_hold_the_same_lines(block_bytes: int) -> None:
    content = b"\n" + PLAIN + b"\r\n" + LINES[0]
    framer = LineFramer(ByteStream(io.BytesIO(content), "none", Limits()), Limits(), block_bytes)
    blocks = list(framer)
    assert b"".join(block.data for block in blocks) == content + b"\n"
    ends = [0, *itertools.accumulate(block.lines for block in blocks)]
    assert [block.first_line for block in blocks] == [end + 1 for end in ends[:-1]]
    assert ends[-1] == 43
    assert framer.torn_tail_bytes == 0


@pytest.mark.parametrize("block_bytes", [1, 7, 150, 1000, 100_000])
def test_blocks_of_any_size_hold_the_same_messages(block_bytes: int) -> None:
    stream = ByteStream(io.BytesIO(PREFIXED + b"\0\0\0"), "none", Limits())
    framer = MessageFramer(stream, Limits(), FRAMING, block_bytes)
    blocks = list(framer)
    assert [message for block in blocks for message in block.messages] == MESSAGES
    assert [number for block in blocks for number in block.numbers] == list(range(1, 41))
    assert framer.torn_tail_bytes == 3


@pytest.mark.parametrize("cut", range(1, len(LINES[1])))
def test_trap_5_an_unfinished_last_line_is_torn_wherever_it_ends(tmp_path: Path, cut: int) -> None:
    outcome = read_bytes(tmp_path, LINES[0] + b"\n" + LINES[1][:cut])
    assert outcome.span_lines == [1]
    assert (outcome.lines, outcome.bad_lines, outcome.reader.torn_tail_bytes) == (1, [], cut)


def test_a_finished_last_line_needs_no_newline(tmp_path: Path) -> None:
    outcome = read_bytes(tmp_path, LINES[0] + b"\n" + LINES[1])
    assert (outcome.span_lines, outcome.reader.torn_tail_bytes) == ([1, 2], 0)


def test_blanks_at_the_end_are_not_torn(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, LINES[0] + b"\n  \t").reader.torn_tail_bytes == 0


@pytest.mark.parametrize("cut", range(1, len(MESSAGES[1]) + 4))
def test_an_unfinished_last_message_is_torn_wherever_it_ends(tmp_path: Path, cut: int) -> None:
    outcome = read_bytes(tmp_path, length_prefixed(MESSAGES[:1]) + length_prefixed(MESSAGES[1:2])[:cut])
    assert outcome.span_lines == [1]
    assert (outcome.lines, outcome.bad_lines, outcome.reader.torn_tail_bytes) == (1, [], cut)


NOISE = random.Random(20261).randbytes(400_000).hex()
NOISY_LINES = b"".join(span_line(f'"name":"{NOISE[at : at + 400]}"') + b"\n" for at in range(0, 800_000, 400))
checked_zstd = zstandard.ZstdCompressor(write_checksum=True).compress


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_a_compressed_file_still_being_written_keeps_its_rows(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    content = compress(NOISY_LINES)
    outcome = read_bytes(tmp_path, content[: len(content) * 2 // 3])
    # zstd gives whole blocks of 128 KiB only
    assert len(outcome.spans) > 1000
    assert (outcome.bad_lines, outcome.reader.stopped, outcome.reader.truncated) == ([], None, True)


@pytest.mark.parametrize("compress", [gzip.compress, checked_zstd])
def test_corrupt_compression_keeps_the_rows_before_it_and_says_so(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    content = bytearray(compress(NOISY_LINES))
    content[len(content) * 2 // 3] ^= 0xFF
    outcome = read_bytes(tmp_path, bytes(content))
    assert "data is corrupt" in outcome.reader.stopped.reason
    assert len(outcome.spans) > 1000
    assert [row["name"] for row in outcome.spans[:1000]] == [NOISE[at : at + 400] for at in range(0, 400_000, 400)]
    assert outcome.reader.torn_tail_bytes == 0


def test_what_follows_a_gzip_member_must_be_one(tmp_path: Path) -> None:
    outcome = read_bytes(tmp_path, gzip.compress(PLAIN) + b"no member")
    assert (len(outcome.spans), outcome.reader.stopped is None) == (40, False)


def test_a_length_beyond_the_limit_stops_the_file_and_keeps_what_came_before(tmp_path: Path) -> None:
    outcome = read_bytes(tmp_path, PREFIXED + struct.pack(">I", 2**31) + b"x" * 100)
    assert len(outcome.spans) == 40
    assert outcome.reader.stopped == Stopped(
        "message 41 claims 2147483648 bytes, more than max_line_bytes (67108864)", 104
    )


@pytest.mark.parametrize("block_bytes", [1, 1000, 100_000])
def test_a_message_longer_than_the_limit_is_one_bad_line(block_bytes: int) -> None:
    content = length_prefixed([MESSAGES[0], _message("n" * 3000), MESSAGES[1], _message("n" * 3000)])
    limits = Limits(max_line_bytes=1000)
    framer = MessageFramer(ByteStream(io.BytesIO(content), "none", limits), limits, FRAMING, block_bytes)
    blocks = list(framer)
    assert [message for block in blocks for message in block.messages] == MESSAGES[:2]
    assert [number for block in blocks for number in block.numbers] == [1, 3]
    bad = [(bad.line, bad.reason) for block in blocks for bad in block.bad_lines]
    assert bad == [(number, "longer than max_line_bytes (1000)") for number in (2, 4)]
    assert (framer.stopped, framer.torn_tail_bytes) == (None, 0)


def test_a_message_longer_than_the_limit_that_does_not_end_is_not_read(tmp_path: Path) -> None:
    cut = length_prefixed([_message("n" * 3000)])[:2000]
    outcome = read_bytes(tmp_path, PREFIXED + cut, limits=Limits(max_line_bytes=1000))
    assert (len(outcome.spans), outcome.bad_lines) == (40, [])
    assert outcome.reader.stopped is not None
    assert outcome.reader.stopped.unread_bytes == 2000


@pytest.mark.parametrize("form", ["protobuf", "json", "zstd"])
@pytest.mark.parametrize("cut", [1, 2, 3, 5, 10, 30])
@pytest.mark.parametrize("damaged", [1, 20, 38])
def test_a_message_that_was_cut_costs_itself_alone(tmp_path: Path, form: str, cut: int, damaged: int) -> None:
    """A writer died amid a message, and the next one went on behind it."""
    messages = {"protobuf": MESSAGES, "json": LINES, "zstd": [zstd(message) for message in MESSAGES]}[form]
    whole = [length_prefixed([message]) for message in messages]
    whole[damaged] = whole[damaged][:-cut]
    outcome = read_bytes(tmp_path, b"".join(whole))
    others = [number for number in range(40) if number != damaged]
    assert [(row["line"], row["name"]) for row in outcome.spans] == [(number + 1, f"n{number}") for number in others]
    assert [(bad.line, bad.reason) for bad in outcome.bad_lines] == [
        (damaged + 1, f"{len(whole[damaged])} bytes that are no whole message")
    ]
    assert (outcome.lines, outcome.reader.stopped, outcome.reader.torn_tail_bytes) == (40, None, 0)


@pytest.mark.parametrize("block_bytes", [1, 7, 150, 100_000])
def test_bytes_between_messages_are_one_bad_line_in_blocks_of_any_size(block_bytes: int) -> None:
    content = length_prefixed(MESSAGES[:20]) + b"\x01junk" * 30 + length_prefixed(MESSAGES[20:]) + b"\0\0\0"
    framer = MessageFramer(ByteStream(io.BytesIO(content), "none", Limits()), Limits(), FRAMING, block_bytes)
    blocks = list(framer)
    assert [message for block in blocks for message in block.messages] == MESSAGES
    assert [number for block in blocks for number in block.numbers] == [*range(1, 21), *range(22, 42)]
    assert [(bad.line, bad.reason) for block in blocks for bad in block.bad_lines] == [
        (21, "150 bytes that are no whole message")
    ]
    assert (framer.stopped, framer.torn_tail_bytes) == (None, 3)


@pytest.mark.parametrize("form", ["proto.gz", "proto.zst"])
def test_damage_in_what_was_compressed_is_passed_over_too(tmp_path: Path, form: str) -> None:
    content = length_prefixed(MESSAGES[:20])[:-10] + length_prefixed(MESSAGES[20:])
    outcome = read_bytes(tmp_path, gzip.compress(content) if form == "proto.gz" else zstd(content))
    assert (outcome.span_lines, outcome.bad_numbers) == ([*range(1, 20), *range(21, 41)], [20])


def test_what_looks_like_messages_and_is_none_is_not_read(tmp_path: Path) -> None:
    """Every ten bytes another length and first byte that lead on to the next, and nothing good behind any of them."""
    looks_so = struct.pack(">I", 6) + b"\x0a\x05\xff\xff\xff\xff"
    outcome = read_bytes(tmp_path, PREFIXED + b"\xff" * 9 + looks_so * 200_000)
    assert len(outcome.spans) == 40
    assert outcome.reader.stopped is not None
    assert outcome.reader.stopped.unread_bytes == 9 + 2_000_000


@pytest.mark.parametrize("length", [1, 2, 6])
def test_the_smallest_that_look_like_messages_are_not_all_checked(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    checked: list[int] = []
    monkeypatch.setattr(frame_search, "is_good", lambda message, *_: bool(checked.append(len(message))))
    data = (struct.pack(">IB", length, 0x0A) + bytes(length - 1)) * 2**18
    search = frame_search.FrameSearch(Framing("none", "lengths", "protobuf"), Limits())
    for _ in range(3):
        assert search.find(data, 1, is_all=False) is None
    assert 0 < len(checked) <= 2**16


@pytest.mark.parametrize("rest", [b"x" * 50, b"\x0a\x40" + b"x" * 50], ids=["no field", "field beyond the message"])
def test_a_tail_that_begins_as_no_message_is_not_taken_for_an_unfinished_one(tmp_path: Path, rest: bytes) -> None:
    """The field of 64 bytes would not fit into a message of 60."""
    outcome = read_bytes(tmp_path, PREFIXED + struct.pack(">I", 60) + rest)
    assert len(outcome.spans) == 40
    assert outcome.reader.stopped == Stopped("what follows message 40 is none, nor the beginning of one", 4 + len(rest))
    assert outcome.reader.torn_tail_bytes == 0


def test_a_corrupt_zstd_message_is_one_bad_line(tmp_path: Path) -> None:
    good = [zstd(line) for line in LINES[:3]]
    outcome = read_bytes(tmp_path, length_prefixed([good[0], good[1][:-9], good[2][:5] + b"\xff" * 9, good[2]]))
    assert (outcome.span_lines, outcome.bad_numbers, outcome.lines) == ([1, 4], [2, 3], 4)
    assert all("zstd" in bad.reason for bad in outcome.bad_lines)


def test_a_zstd_message_that_grows_beyond_the_limit_is_one_bad_line(tmp_path: Path) -> None:
    content = length_prefixed([zstd(LINES[0]), zstd(b" " * 10**6), zstd(LINES[1])])
    outcome = read_bytes(tmp_path, content, limits=Limits(max_line_bytes=10_000))
    assert (outcome.span_lines, outcome.bad_numbers) == ([1, 3], [2])


def test_zstd_messages_share_the_limit_of_the_file(tmp_path: Path) -> None:
    content = length_prefixed([zstd(LINES[0]), *(zstd(LINES[1] + b" " * 9_000_000) for _ in range(5))])
    outcome = read_bytes(tmp_path, content, limits=Limits(max_decompressed_bytes=20_000_000))
    assert outcome.reader.stopped.reason == "decompresses to more than max_decompressed_bytes (20000000)"


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_decompression_stops_at_the_limit_and_keeps_what_came_before(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    content = compress(PLAIN * 20_000)
    outcome = read_bytes(tmp_path, content, limits=Limits(max_decompressed_bytes=10_000_000, max_line_bytes=10_000))
    assert outcome.reader.stopped.reason == "decompresses to more than max_decompressed_bytes (10000000)"
    assert len(content) // 2 < outcome.reader.stopped.unread_bytes <= len(content)
    assert 0 < len(outcome.spans) < 100_000


BOMB = """
    import resource, sys
    from pathlib import Path
    from goodput.collect.otlp.decode import OtlpDecoder
    from goodput.collect.otlp.read import OtlpReader
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reader = OtlpReader(Path(sys.argv[1]), OtlpDecoder())
    rows = sum(block.spans.num_rows for block in reader if block.spans)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(rows, grown // 1024, reader.stopped, sep="|")
"""


@pytest.mark.parametrize("tail", [b"\0", b"\n", LINES[0] + b"\n"], ids=["zeros", "newlines", "lines"])
def test_a_bomb_is_refused_without_filling_memory(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "bomb.zst"
    with zstandard.ZstdCompressor(level=3).stream_writer(path.open("wb")) as writer:
        writer.write(PLAIN)
        for _ in range(64):
            writer.write(tail * (2**24 // len(tail)))
    assert path.stat().st_size < 2**20
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BOMB), str(path)], capture_output=True, text=True, check=True
    )
    rows, grown_mb, stopped = done.stdout.strip().split("|")
    assert int(rows) >= 40
    assert int(grown_mb) < 600
    assert "500 times" in stopped


def test_progress_is_told_in_bytes_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for form in FORMS.values():
        path.write_bytes(form)
        seen: list[int] = []
        list(OtlpReader(path, OtlpDecoder(), seen.append))
        assert sum(seen) == len(form)


@pytest.mark.parametrize(
    "content",
    [
        b"hello\n",
        b'{"a":1}\n{"b":2}\n',
        b'{"data":{"resourceSpans":[]}}\n',
        b'{"text":"\\"resourceSpans\\""}\n',
        b"PAR1" + bytes(100),
        bytes(1000),
        b"\0\0\0\x05hello",
        b"\0\0\0\x05\x0a\x09abc",
        b"\x1f\x8b\x08 no gzip",
        b"\x28\xb5\x2f\xfd no zstd",
        gzip.compress(b"a,b\n1,2\n", mtime=0),
        length_prefixed([zstd(b"text")]),
        b"\xff" * 500,
        b"[]\n",
    ],
    ids=lambda content: repr(content[:20]),
)
def test_what_is_no_otlp_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert sniff(path) is None
    with pytest.raises(SourceRefused, match="does not look like OTLP"):
        read_path(path)


def test_a_block_holds_no_more_rows_than_can_be_told_of(tmp_path: Path) -> None:
    content = GOOD + b"\n" + b"x\n" * 200_000 + GOOD + b"\n"
    (tmp_path / "lines").write_bytes(content)
    blocks = list(OtlpReader(tmp_path / "lines", OtlpDecoder()))
    assert [block.lines for block in blocks] == [65536, 65536, 65536, 200_002 - 3 * 65536]
    assert [bad.line for block in blocks for bad in block.bad_lines] == list(range(2, 200_002))
    assert [block.spans["line"].to_pylist() for block in blocks if block.spans] == [[1], [200_002]]
    (tmp_path / "messages").write_bytes(length_prefixed([MESSAGES[0]] + [b""] * 100_000 + [MESSAGES[1]]))
    assert [block.lines for block in OtlpReader(tmp_path / "messages", OtlpDecoder())] == [65536, 100_002 - 65536]


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    outcome = read_bytes(tmp_path, b"")
    assert (outcome.lines, outcome.reader.stopped) == (0, None)


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_a_compressed_file_of_which_too_little_is_written_has_no_rows_yet(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    outcome = read_bytes(tmp_path, compress(GOOD)[:12])
    assert (outcome.lines, outcome.reader.truncated, outcome.reader.stopped) == (0, True, None)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceRefused, match="cannot be read"):
        read_path(tmp_path / "missing")


def test_otlp_is_told_by_any_line_of_the_head(tmp_path: Path) -> None:
    outcome = read_bytes(tmp_path, b"{torn" + b"\n" + b'{"schemaUrl":"x",' + GOOD[1:] + b"\n")
    assert (outcome.span_lines, outcome.bad_numbers) == ([2], [1])


@pytest.mark.parametrize("first", [GOOD[60:], b"# rotated", b"\0" * 300, b"2026-11-20 collector started"])
def test_one_line_of_something_else_before_them_costs_that_line_alone(tmp_path: Path, first: bytes) -> None:
    outcome = read_bytes(tmp_path, first + b"\n" + b"".join(line + b"\n" for line in LINES))
    assert (outcome.span_lines, outcome.bad_numbers) == (list(range(2, 42)), [1])


def test_text_that_quotes_otlp_here_and_there_is_none(tmp_path: Path) -> None:
    """A line of a log, or of a prompt in messages, must not decide how all others are read."""
    (tmp_path / "log").write_bytes(b"prompt:\n" + GOOD + b"\nand so on\n")
    assert sniff(tmp_path / "log") is None
    quoting = length_prefixed([_message("x\n" + GOOD.decode() + "\n")] * 3)
    (tmp_path / "messages").write_bytes(quoting)
    framing = sniff(tmp_path / "messages")
    assert framing is not None
    assert framing.encoding == "protobuf"


def test_a_first_line_longer_than_the_head_is_otlp_all_the_same(tmp_path: Path) -> None:
    long = span_line(f'"name":"{"n" * 200_000}"')
    assert read_bytes(tmp_path, long + b"\n").span_lines == [1]
    assert read_bytes(tmp_path, length_prefixed([_message("n" * 200_000)])).span_lines == [1]
    noise = os.urandom(200_000).hex()
    assert read_bytes(tmp_path, length_prefixed([zstd(_message(noise))])).span_lines == [1]


def test_a_long_line_without_end_does_not_fill_memory() -> None:
    class Endless(io.RawIOBase):
        left = 3000

        def read(self, size: int = -1) -> bytes:
            self.left -= 1
            return b"x" * size if self.left else b""

    stream = ByteStream(Endless(), "none", Limits())  # type: ignore[arg-type]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (block,) = list(LineFramer(stream, Limits(max_line_bytes=2**20), block_bytes=2**17))
    assert isinstance(block, LineBlock)
    assert [bad.line for bad in block.bad_lines] == [1]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
