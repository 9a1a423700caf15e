"""Addresses of lakes, as settings and the command line name them. Questions need no more of the settings."""

from pathlib import Path

DEFAULT_FILE = Path("goodput.toml")
DEFAULT_LAKE = "lake"  # beside the settings file
SCHEMES = ("s3", "gs", "az")  # of addresses of object stores


def url_of(lake: str) -> str | None:
    """The address of a lake in an object store; None of a lake in a folder."""
    return lake.rstrip("/") if lake.startswith(tuple(f"{scheme}://" for scheme in SCHEMES)) else None


def named(path: Path) -> str:
    """What the command line means by a path: an address, of which it has lost a slash, or a folder."""
    first, *rest = path.parts or (".",)  # which the folder that one stands in has none of
    return (
        f"{first}//{'/'.join(rest)}" if first.rstrip(":") in SCHEMES and first.endswith(":") else str(path.absolute())
    )
