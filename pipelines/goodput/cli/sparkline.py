"""A row of values as a line of blocks, for where a trend says more than a number."""

from collections.abc import Sequence

_BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(shares: Sequence[float | None]) -> str:
    """Shares from 0 to 1, a block each, as high as the share; a blank where there is none."""
    return "".join(
        " " if share is None else _BLOCKS[min(int(share * len(_BLOCKS)), len(_BLOCKS) - 1)] for share in shares
    )
