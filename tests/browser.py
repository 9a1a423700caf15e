"""Debian's chromium for tests of pages: a reader with a tab, and axe-core where npm has installed it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: install Debian's package of that name")
_MODULES = [Path(folder, "node_modules/axe-core/axe.min.js") for folder in ("/usr/lib", "/usr/local/lib")]
AXE = next((file for file in _MODULES if file.is_file()), None)
needs_axe = pytest.mark.skipif(AXE is None, reason="no axe-core: npm install --global axe-core")
_QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")


@contextmanager
def launched() -> Iterator["playwright.Browser"]:
    """A browser; an event loop runs as long as it is open, and other tests start their own."""
    with playwright.sync_playwright() as started:
        sandbox = [] if os.geteuid() else ["--no-sandbox"]  # root has none
        browser = started.chromium.launch(executable_path=CHROMIUM, args=[*_QUIET, *sandbox])
        yield browser
        browser.close()


class Reader:
    """A tab, and whatever the browser complained of."""

    def __init__(self, browser: "playwright.Browser", **how: object) -> None:
        self.tab = browser.new_context(**how).new_page()
        self.complaints: list[str] = []
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, address: str, **named: str) -> None:
        """Open the page of charts with a choice."""
        self.tab.goto(f"{address}#{urlencode(named)}")
        self.tab.wait_for_function("document.body.dataset.shown")

    def text(self, selector: str) -> str:
        return self.tab.inner_text(selector)

    def violations(self) -> list[tuple[str, str]]:
        """What stands in the way of a screen reader, as axe-core finds it."""
        assert AXE
        self.tab.evaluate(AXE.read_text())
        found = self.tab.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [(one["id"], one["nodes"][0]["html"][:120]) for one in found["violations"]]
