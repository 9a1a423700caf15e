"""Where sql/, schemas/ and pages of docs/ are: inside an installed wheel, else beside the package in a checkout.

Only the finding belongs here; what the files mean is read elsewhere.
"""

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent


@cache
def project_folder(name: str) -> Path:
    """Folder `name` ("sql", "schemas" or "docs"), wheel first, checkout second."""
    packed = PACKAGE / "_data" / name
    return packed if packed.is_dir() else PACKAGE.parent.parent / name
