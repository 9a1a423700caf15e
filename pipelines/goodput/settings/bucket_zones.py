"""Landing zones in object stores: where each lies, and how the keys of its objects tell when they were written."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from goodput.settings.lake_address import url_of
from goodput.settings.settings_model import Unusable

_DIRECTIVE = re.compile(r"%(.?)")
_DAY = "Ymd"  # the least that a format must have
_KNOWN = f"{_DAY}HM"
_RIGHT = "an address, then folders with %Y, %m and %d, and maybe %H and %M: s3://bucket/prefix/%Y/%m/%d/%H"


class BucketZone(NamedTuple):
    """Objects below an address, in folders by the time of their writing where `partition` is their strftime format."""

    url: str
    partition: str | None

    def folders(self, since: datetime, until: datetime) -> list[str]:
        """The folders of those hours, as keys begin with them below the address."""
        hours = range(int((until - since) / timedelta(hours=1)) + 1)
        return list(dict.fromkeys((since + timedelta(hours=hour)).strftime(self.partition or "") for hour in hours))


def bucket_zone(landing: str) -> BucketZone | None:
    """What an entry of `landing` says of objects; None of one in folders. Raises Unusable."""
    if (url := url_of(landing)) is None:
        return None
    segments = url.split("/")
    timed = next((at for at, segment in enumerate(segments) if "%" in segment), len(segments))
    if timed == len(segments):
        return BucketZone(url, None)
    used = "".join(_DIRECTIVE.findall("/".join(segments[timed:])))
    if unknown := "".join(sorted(set(used) - set(_KNOWN))) or ("" if set(_DAY) <= set(used) else "no day"):
        raise Unusable(f"{landing!r} has folders by time that are not known ({unknown})", _RIGHT)
    # an hour is listed at once: folders of minutes are below its own
    return BucketZone("/".join(segments[:timed]), "/".join(_up_to_the_hour(segments[timed:])))


def _up_to_the_hour(segments: list[str]) -> Iterator[str]:
    for segment in segments:
        if "%M" in segment:
            return
        yield segment
