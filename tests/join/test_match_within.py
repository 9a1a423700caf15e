"""Records that are matched by time alone are of one cluster, where an attribute of the settings tells clusters apart.

See docs/semantics.md#matched-by-time.
"""

import pytest

from goodput.settings.model import Settings
from join.test_halves import stream, until_headers
from join.test_refusals import log, span
from river import Row, join, record

CLUSTERS = Settings(match_within=("k8s.cluster.name", "cluster"))
NOWHERE = Settings()
EU: Row = {"attributes": '{"k8s.cluster.name":"eu","team":"a"}'}
US: Row = {"attributes": '{"k8s.cluster.name":"us","team":"a"}'}
ALSO_EU: Row = {"attributes": '{"cluster":"eu"}'}


def attempts(*rows: Row, settings: Settings) -> list[list[str]]:
    """Which records are one attempt."""
    return sorted(sorted(row["record_ids"]) for row in join(rows, settings=settings).attempts.values())


@pytest.fixture
def outage() -> list[Row]:
    """Two gateways that refuse at the same instants."""
    return [
        span("1", 2.0, 3.0) | EU,
        span("2", 2.001, 3.001) | US,
        log("3", 2.1, 2.3) | EU,
        log("4", 2.1, 2.3) | US,
    ]


def test_refusals_of_two_gateways_at_once_are_told_apart(outage: list[Row]) -> None:
    assert attempts(*outage, settings=CLUSTERS) == [
        [f"{1:032x}:1", "row-3"],
        [f"{2:032x}:2", "row-4"],
    ]


def test_without_an_attribute_neither_is_known(outage: list[Row]) -> None:
    assert len(attempts(*outage, settings=NOWHERE)) == 4


@pytest.mark.parametrize(("other", "is_same"), [(EU, True), (ALSO_EU, True), (US, False), ({}, False)])
def test_the_first_of_the_attributes_counts_and_a_record_without_any_is_elsewhere(other: Row, is_same: bool) -> None:
    rows = [span("1", 2.0, 3.0) | EU, log("2", 2.1, 2.3) | other]
    assert len(attempts(*rows, settings=CLUSTERS)) == (1 if is_same else 2)
    assert len(attempts(*rows, settings=NOWHERE)) == 1


def test_two_without_any_are_of_one_place() -> None:
    assert len(attempts(span("1", 2.0, 3.0), log("2", 2.1, 2.3), settings=CLUSTERS)) == 1


def test_streams_of_two_clusters_find_their_own_calls() -> None:
    rows = [
        until_headers("a", 0.0, 1.0, trace="1" * 32) | EU,
        until_headers("b", 0.5, 1.1, trace="2" * 32) | US,
        stream("x", 1.2, 9.0, trace="3" * 32, output_tokens=1) | EU,
        stream("y", 1.3, 4.0, trace="4" * 32, output_tokens=2) | US,
    ]

    def begun(settings: Settings) -> dict[int, int]:
        return {row["output_tokens"]: row["started_ns"] for row in join(rows, settings=settings).attempts.values()}

    first_ns, second_ns = (row["started_ns"] for row in rows[:2])
    assert begun(CLUSTERS) == {1: first_ns, 2: second_ns}
    assert begun(NOWHERE) == {1: second_ns, 2: first_ns}  # by brackets: what begins last ends first


def test_below_one_parent_the_parent_says_enough() -> None:
    rows = [until_headers("call", 0, 2, parent="p") | EU, stream("log", 2.25, 5, parent="p") | US]
    assert len(attempts(*rows, settings=CLUSTERS)) == 1


@pytest.mark.parametrize(("second", "calls"), [(EU, 4), (US, 5)])
def test_instrumentations_are_matched_by_time_in_one_cluster_and_by_an_id_in_any(second: Row, calls: int) -> None:
    def pair(number: int, inner: Row, **given: str) -> list[Row]:
        at = 10.0 * number
        told = {"input_tokens": 5, "output_tokens": 9, **given}
        outer = record("o", at, at + 1, trace=f"{number:031x}1", instrumentation="framework", **told)
        nested = record("i", at + 0.05, at + 0.95, trace=f"{number:031x}2", instrumentation="sdk", **told)
        return [outer | EU, nested | inner]

    known = [row for n in range(3) for row in pair(n, US, response_id=f"answer-{n}")]
    assert len(attempts(*known, *pair(3, second), settings=CLUSTERS)) == calls


def test_an_id_links_across_clusters() -> None:
    rows = [
        record("a", 0, 3, trace="1" * 32, layer="gateway", dialect="g", call_id="c", covers_tries=True) | EU,
        record("b", 1, 2, trace="2" * 32, layer="engine", dialect="e", call_id="c") | US,
    ]
    assert len(attempts(*rows, settings=CLUSTERS)) == 1


def test_the_attributes_are_kept() -> None:
    assert CLUSTERS.kept_attributes == ("cluster", "k8s.cluster.name")
