"""How much memory `goodput run` takes for a landing zone of many gigabytes, and for one file of a gigabyte.

`python -m benchmarks.large_zone` prints these rows alone. Traffic is as dense in a large zone as in a small one: what
grows are its hours. The zone is made in the folder for temporary files, and deleted.
"""

import argparse
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.child import run
from benchmarks.table import Row, peak_memory
from benchmarks.whole_run import FIRST_NS, REPLICAS, SETTINGS, SPANS_PER_LINE, line_of, span_of

ZONE_BYTES, FILE_BYTES = 10 * 10**9, 10**9
ZONE_FILE_BYTES = 250 * 10**6
LINE_NS = SPANS_PER_LINE * 12_000_000  # 300,000 spans an hour, 0.4 GB
MEMORY_BELOW = 5 * 10**9


def rows(share: float) -> Iterator[Row]:
    """A landing zone of `share` of its bytes, and one file."""
    yield measured(round(ZONE_BYTES * share), round(ZONE_FILE_BYTES * share))
    yield measured(round(FILE_BYTES * share), round(FILE_BYTES * share))


def measured(zone_bytes: int, file_bytes: int) -> Row:
    """The most memory of a run over a zone of so many bytes in files of so many."""
    with TemporaryDirectory(prefix="goodput-bench-") as name:
        folder = Path(name)
        (folder / "goodput.toml").write_text(SETTINGS)
        files = write_zone(folder / "landing", zone_bytes, file_bytes)
        ended = run([str(Path(sys.executable).with_name("goodput")), "run"], folder)
    zone = f"{zone_bytes / 1e9:g} GB of OTLP/JSON in {files} file(s)"
    what = f"goodput run, {zone}, {ended.cpu_s:.0f} s of work: most memory"
    return peak_memory(what, ended.peak_bytes, below_bytes=MEMORY_BELOW)


def write_zone(landing: Path, zone_bytes: int, file_bytes: int) -> int:
    """Write spans of a fleet in the order of time; how many files they are."""
    landing.mkdir()
    chance, written, number = random.Random(1), 0, 0
    lines = _lines(chance)
    while written < zone_bytes:
        with (landing / f"spans-{number:04}.jsonl").open("wb") as file:
            until = min(written + file_bytes, zone_bytes)
            while written < until:
                written += file.write(next(lines))
        number += 1
    return number


def _lines(chance: random.Random) -> Iterator[bytes]:
    """Lines for ever: of each replica the spans of one, made once, with ids and times of their own."""
    templates = [_template(chance, replica) for replica in range(REPLICAS)]
    at_ns = FIRST_NS
    while True:
        for text, lasting_ns in templates:
            ids = chance.randbytes(40 * SPANS_PER_LINE).hex()
            values: list[object] = []
            for number, span_ns in enumerate(lasting_ns):
                start_ns = at_ns + number * LINE_NS // SPANS_PER_LINE
                own = ids[80 * number : 80 * (number + 1)]
                values += (own[:32], own[32:48], start_ns, start_ns + span_ns, own[48:])
            yield (text % tuple(values)).encode()
            at_ns += LINE_NS


def _template(chance: random.Random, replica: int) -> tuple[str, list[int]]:
    """A line with a place for each id and time of its spans, and how long each of these lasts."""
    spans = [span_of(chance, 0) for _ in range(SPANS_PER_LINE)]
    lasting_ns = [int(str(span["endTimeUnixNano"])) for span in spans]
    for span in spans:
        span |= {"traceId": "%s", "spanId": "%s", "startTimeUnixNano": "%d", "endTimeUnixNano": "%d"}
    text = re.sub("chatcmpl-[0-9a-f]{32}", "chatcmpl-%s", line_of(replica, spans).decode())
    return text, lasting_ns


def main() -> None:
    """Print the rows of sizes that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_zone", description=__doc__)
    parser.add_argument("--zone-gb", type=float, nargs="+", default=[ZONE_BYTES / 1e9])
    parser.add_argument("--file-gb", type=float, nargs="+", default=[FILE_BYTES / 1e9])
    asked = parser.parse_args()
    for zone_gb in asked.zone_gb:
        print(*measured(round(zone_gb * 1e9), ZONE_FILE_BYTES), sep=" | ", flush=True)
    for file_gb in asked.file_gb:
        print(*measured(round(file_gb * 1e9), round(file_gb * 1e9)), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
