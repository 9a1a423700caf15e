"""What a scan sees of a landing zone in which every file is new."""

from dataclasses import dataclass
from pathlib import Path

from goodput.collect.landing import claimed
from goodput.collect.listing import landed_file, list_landing
from goodput.collect.received import LandedFile
from goodput.settings.model import Settings


@dataclass
class Discovery:
    """Files to read with their readers, and those that must not be read with the reason, by path."""

    files: list[LandedFile]
    refused: list[tuple[LandedFile, str]]


def discover(settings: Settings) -> Discovery:
    """What lies in the landing zone, and who claims each file."""
    listing = list_landing(settings)
    found = Discovery([], listing.refused)
    for landing, path in listing.files.select("landing", "path").sort("path").iter_rows():
        file, reason = claimed(landed_file(Path(landing), path), settings)
        if reason:
            found.refused.append((file, reason))
        else:
            found.files.append(file)
    found.refused.sort(key=lambda item: item[0].relative_path)
    return found
