"""The pictures of docs/tour.md: parts of the demo's report as a browser shows them.

`python -m pictures demo/report.html` (with tests/ on the path) takes them anew, after the report looks different.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from documents import ROOT

FOLDER = ROOT / "docs/pictures"
PARTS = ("tiles", "accepted_over_time", "money_totals", "worth_trying", "parts_apart", "replica_paces", "replica_hits")
WIDTH = 1000


def take(page: Path) -> None:
    """Take a picture of each of PARTS of a report."""
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=shutil.which("chromium")) as browser,
    ):
        shown = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        shown.goto(page.resolve().as_uri())
        shown.wait_for_selector(f"#{PARTS[-1]} svg")
        shown.wait_for_load_state("networkidle")
        for part in PARTS:
            shown.locator(f"#{part}").screenshot(path=FOLDER / f"{part}.png")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    take(Path(sys.argv[1]))
