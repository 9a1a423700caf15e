"""Which files are saved scrapes, and what their path says: when the target was scraped, and which it is.

`<folder>/<unix time>.prom`, also compressed. What is in them is `text`'s work.
"""

import re
from dataclasses import replace

from goodput.collect.received import LandedFile

READER = "prometheus"
_SCRAPE = re.compile(r"(?P<stem>.*)\.prom(?:\.gz|\.zst)?")
_TIME = re.compile(r"(?:^|\D)(?P<whole>\d{10}|\d{13}|\d{16}|\d{19})(?:\.(?P<fraction>\d{1,9}))?$")


def as_scrape(file: LandedFile) -> LandedFile | None:
    """The file with the captures `target` and, where its name ends in a Unix time, `scraped_ns`; None: no scrape."""
    match = _SCRAPE.fullmatch(file.named.name)
    if match is None:
        return None
    captures = {"target": file.named.absolute().parent.name}
    time = _TIME.search(match["stem"])
    if time:
        seconds = time["whole"][:10]
        fraction = time["whole"][10:] or time["fraction"] or ""
        captures["scraped_ns"] = seconds + fraction.ljust(9, "0")
    return replace(file, reader=READER, captures=captures)
