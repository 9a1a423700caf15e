"""A gateway's log of what it refused before any try, without an id that the span of the call has.

See docs/semantics.md#one-attempt-several-records.
"""

import pytest

from river import Row, join, record


def span(name: str, start: float, end: float, status: int = 429) -> Row:
    """A call that a gateway refused, with no try below it."""
    trace = f"{int(name):032x}"
    given = {"layer": "gateway", "dialect": "spans", "covers_tries": True, "outcome": "error", "http_status": status}
    return record(name, start, end, trace=trace, **given)


def log(name: str, start: float, end: float, status: int = 429) -> Row:
    """A row of its log, which knows neither trace nor call."""
    given = {"layer": "gateway", "dialect": "log", "outcome": "error", "http_status": status}
    return record(name, start, end, **given) | {"record_id": f"row-{name}", "trace_id": None, "span_id": None}


def attempts(*rows: Row) -> list[list[str]]:
    """Which records are one attempt."""
    return sorted(sorted(row["record_ids"]) for row in join(rows).attempts.values())


@pytest.mark.parametrize(
    ("began", "ended", "is_same"),
    [
        (2.001, 2.5, True),
        (1.998, 2.4, True),  # within 5 ms, in the second before
        (1.994, 2.4, False),
        (2.1, 3.001, True),  # and in the second after
        (2.1, 3.004, False),
    ],
)
def test_the_only_refusal_within_a_span_is_the_same(began: float, ended: float, is_same: bool) -> None:
    found = attempts(span("1", 2.001, 2.998), log("2", began, ended))
    assert len(found) == (1 if is_same else 2)


@pytest.mark.parametrize(("lasts", "at"), [(3.0, 2.5), (599.0, 598.5), (601.0, 300.0), (7200.0, 7199.0)])
def test_however_long_the_span_lasts(lasts: float, at: float) -> None:
    assert len(attempts(span("1", 0.0, lasts), log("2", at, at + 0.2))) == 1


@pytest.mark.parametrize("more", [span("3", 2.0, 3.0), log("3", 2.2, 2.4), span("3", 0.0, 900.0)])
def test_where_there_are_two_neither_is_known(more: Row) -> None:
    assert len(attempts(span("1", 2.0, 3.0), log("2", 2.1, 2.3), more)) == 3


def test_another_status_is_another_refusal() -> None:
    assert len(attempts(span("1", 2.0, 3.0, 503), log("2", 2.1, 2.3))) == 2


def test_an_outage_of_one_status_is_told_apart_by_its_instants() -> None:
    began = [number / 5 for number in range(300)]
    spans = [span(str(2 * number + 1), at, at + 0.1) for number, at in enumerate(began)]
    logs = [log(str(2 * number + 2), at + 0.02, at + 0.08) for number, at in enumerate(began)]
    assert [len(of_one) for of_one in attempts(*spans, *logs)] == [2] * 300
