"""The demo's fleet over twelve days with three faults: each pages soon, names what it follows from, and is alone."""

import numpy as np
import pytest

from monitor.fleet import Story, faults
from monitor.fleet_drill import Page, judged, pages_of, served_in

STORY = Story(chat_per_hour=75, rag_per_hour=105, sample_every_s=300.0)  # enough for a p95 by the hour


@pytest.fixture(scope="module")
def pages() -> list[Page]:
    return pages_of(judged(STORY, served_in(STORY), 3600))


@pytest.mark.parametrize(("number", "within_h"), [(0, 10), (1, 17), (2, 9)], ids=["p95 of ttft", "KV", "hit ratio"])
def test_each_fault_pages_in_time_and_names_its_operation(pages: list[Page], number: int, within_h: float) -> None:
    fault = faults(STORY)[number]
    first = next(page for page in pages if page.metric == fault.metric and page.is_of(fault))
    assert first.at_s <= fault.onset_s + within_h * 3600
    assert first.likely
    assert first.names(fault)


def test_nothing_else_pages(pages: list[Page]) -> None:
    of_faults = [[page.is_of(fault) and page.names(fault) for fault in faults(STORY)] for page in pages]
    assert np.any(of_faults, axis=1).all(), pages
