"""Labels find the request that they judge and decide its quality gate (docs/semantics.md#labels)."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema
from goodput.plumbing.sql_files import compute, connect, sql_file
from goodput.settings.model import Settings, Workload, WorkloadMatch
from river import START_NS, TRACE, Joined, Row, at_ns, join, key, label, one_workload, record

OTHER_TRACE = "0af7651916cd43dd8448eb211c80319c"
FRIDAY_S = 3 * 86400.0


def judged(labels: Iterable[Row], **quality: Any) -> Row:
    """The one request of a client over an engine, judged by `labels` under a quality gate."""
    return joined_with(labels, **quality).request


def joined_with(labels: Iterable[Row], **quality: Any) -> Joined:
    rows = [
        record("c", 0, 2, response_id="resp-1"),
        record("e", 0.5, 1.5, layer="engine", parent="c", response_id="eng-1"),
    ]
    return join(rows, labels, settings=one_workload(quality=quality))


# Finding the request


@pytest.mark.parametrize(
    ("kind", "subject"),
    [
        ("span", key("c")),
        ("span", key("e")),  # any layer's span
        ("response", "resp-1"),
        ("response", "eng-1"),
        ("request", key("c")),
        ("trace", TRACE),
    ],
)
def test_a_label_finds_its_request(kind: str, subject: str) -> None:
    joined = joined_with([label(kind, subject, label_id="L")])
    assert joined.labels["L"]["request_key"] == key("c")
    assert (joined.request["pass_quality"], joined.request["verdict"]) == (True, "accepted")


def test_a_label_keeps_the_plan_by_which_its_request_was_drawn() -> None:
    drawn, other = label("request", key("c"), label_id="L", plan_id="plan-1"), label("trace", TRACE, label_id="M")
    joined = joined_with([drawn, other])
    assert {name: row["plan_id"] for name, row in joined.labels.items()} == {"L": "plan-1", "M": None}


def test_a_label_on_any_attempt_judges_the_request() -> None:
    rows = [record("a", 0, 1, request_key="K", outcome="error"), record("b", 2, 3, request_key="K")]
    settings = one_workload(quality={})
    assert join(rows, [label("span", key("a"), passed=False)], settings=settings).request["verdict"] == "rejected"
    assert join(rows, [label("request", "K", passed=True)], settings=settings).request["verdict"] == "accepted"


def test_a_trace_of_two_requests_judges_neither() -> None:
    rows = [record("a", 0, 1), record("b", 2, 3), record("c", 0, 1, trace=OTHER_TRACE)]
    joined = join(rows, [label("trace", TRACE), label("trace", OTHER_TRACE)], settings=one_workload(quality={}))
    assert {name: row["verdict"] for name, row in joined.requests.items()} == {
        key("a"): "unlabelled",
        key("b"): "unlabelled",
        key("c", OTHER_TRACE): "accepted",
    }


def test_a_trace_of_two_attempts_is_not_ambiguous() -> None:
    rows = [record("a", 0, 1, request_key="K", outcome="error"), record("b", 2, 3, request_key="K")]
    assert join(rows, [label("trace", TRACE)], settings=one_workload(quality={})).request["verdict"] == "accepted"


def test_trap_15_a_response_id_that_two_requests_share_judges_neither() -> None:
    rows = [record("a", 0, 1, response_id="r"), record("b", 2, 3, response_id="r")]
    joined = join(rows, [label("response", "r")], settings=one_workload(quality={}))
    assert {row["verdict"] for row in joined.requests.values()} == {"unlabelled"}


def test_the_answers_id_helps_where_the_span_was_not_recorded() -> None:
    joined = joined_with([label("span", key("lost"), label_id="L", response_id="resp-1", passed=False)])
    assert joined.labels["L"]["request_key"] == key("c")
    assert joined.request["verdict"] == "rejected"


def test_a_span_that_was_not_collected_is_found_by_what_was_called_from_it() -> None:
    """An agent's two calls in one trace, known by the engine alone, below spans that were not collected."""
    rows = [record("a", 0, 1, layer="engine", parent="client-a"), record("b", 2, 3, layer="engine", parent="client-b")]
    labels = [label("span", key("client-b"), label_id="L"), label("span", key("client-a")[33:], label_id="M")]
    joined = join(rows, labels, settings=one_workload(quality={}))
    assert {name: row["request_key"] for name, row in joined.labels.items()} == {"L": key("b"), "M": key("a")}


def test_a_span_that_was_not_collected_is_found_by_a_trace_of_one_request_only() -> None:
    rows = [record("a", 0, 1), record("b", 2, 3), record("c", 0, 1, trace=OTHER_TRACE)]
    labels = [label("span", key("lost"), label_id="L"), label("span", key("lost", OTHER_TRACE), label_id="M")]
    joined = join(rows, labels, settings=one_workload(quality={}))
    assert {name: row["request_key"] for name, row in joined.labels.items()} == {"M": key("c", OTHER_TRACE)}


def test_a_label_of_nothing_known_is_left_out() -> None:
    unknown = [
        *(label("span", key("x", OTHER_TRACE)), label("span", "00000000000000ff")),
        *(label("response", "x"), label("request", "x"), label("trace", OTHER_TRACE)),
    ]
    joined = joined_with(unknown)
    assert joined.labels == {}
    assert joined.request["verdict"] == "unlabelled"


def test_a_label_may_be_older_than_the_record_that_it_judges() -> None:
    assert judged([label("span", key("c"), at=-600.0)])["verdict"] == "accepted"


# What a label says


@pytest.mark.parametrize(
    ("said", "passed"),
    [
        ({"passed": True, "score": 0.0, "label": "bad"}, True),  # its own boolean first
        ({"passed": False, "score": 1.0, "label": "pass"}, False),
        ({"score": 0.7, "label": "bad"}, True),  # then the score; the bound is inclusive
        ({"score": 0.69, "label": "pass"}, False),
        ({"label": "OK-ish"}, True),  # then the label, whatever its case
        ({"label": "pass"}, False),  # not one of this workload's pass_labels
    ],
)
def test_what_a_label_says(said: Row, passed: bool) -> None:
    joined = joined_with([label("span", key("c"), label_id="L", **said)], min_score=0.7, pass_labels=["ok-ISH"])
    assert joined.labels["L"]["passed"] is passed
    assert joined.request["pass_quality"] is passed


def test_trap_28_a_score_means_nothing_without_a_min_score() -> None:
    joined = joined_with([label("span", key("c"), label_id="L", score=0.9)])
    assert joined.labels["L"]["passed"] is None
    assert joined.request["verdict"] == "unlabelled"
    with_label = joined_with([label("span", key("c"), label_id="L", score=0.1, label="pass")])
    assert with_label.labels["L"]["passed"] is True


def test_where_there_is_no_quality_gate_only_the_evaluators_own_verdict_counts() -> None:
    labels = [
        label("span", key("c"), label_id=n, evaluator=n, **said)
        for n, said in (("own", {"passed": False}), ("word", {"label": "pass"}), ("score", {"score": 1.0}))
    ]
    joined = join([record("c")], labels, settings=one_workload())
    assert {name: row["passed"] for name, row in joined.labels.items()} == {"own": False, "word": None, "score": None}
    assert (joined.request["verdict"], joined.request["pass_quality"]) == ("accepted", None)


def test_each_workload_has_its_own_bar() -> None:
    settings = Settings(
        workloads={
            "low": Workload(match=WorkloadMatch(model="a"), quality={"min_score": 0.2}),
            "high": Workload(match=WorkloadMatch(model="b"), quality={"min_score": 0.8}),
        }
    )
    rows = [record("a", 0, 1, model="a"), record("b", 2, 3, model="b")]
    labels = [label("span", key(span), score=0.5) for span in "ab"]
    assert [join(rows, labels, settings=settings).requests[key(span)]["verdict"] for span in "ab"] == [
        "accepted",
        "rejected",
    ]


# Several evaluators


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ({"safe": True, "help": True}, "accepted"),
        ({"safe": True, "help": False}, "rejected"),
        ({"safe": True}, "unlabelled"),
        ({"safe": False}, "unlabelled"),  # of those that one judged, only failures would be known
        ({"safe": True, "help": True, "style": False}, "accepted"),  # not named by the workload
        ({"style": True}, "unlabelled"),
        ({}, "unlabelled"),
    ],
)
def test_every_evaluator_that_the_workload_names_must_pass(said: dict[str, bool], verdict: str) -> None:
    labels = [label("span", key("c"), evaluator=name, passed=passed) for name, passed in said.items()]
    assert judged(labels, evaluators=["safe", "help"])["verdict"] == verdict


@pytest.mark.parametrize("policy", [{"unlabelled": "fail"}, {"unlabelled": "pass"}, {"sampling": "none"}])
def test_where_nothing_is_estimated_the_first_evaluator_that_fails_an_answer_rejects_it(policy: dict[str, str]) -> None:
    labels = [label("span", key("c"), evaluator="safe", passed=False)]
    assert judged(labels, evaluators=["safe", "help"], **policy)["verdict"] == "rejected"


def test_without_names_every_evaluator_that_judged_must_pass() -> None:
    for said, verdict in (([True], "accepted"), ([True, True], "accepted"), ([True, False], "rejected")):
        labels = [label("span", key("c"), evaluator=f"e{n}", passed=passed) for n, passed in enumerate(said)]
        assert judged(labels)["verdict"] == verdict


# Revisions


def test_the_latest_revision_counts() -> None:
    revisions = [
        label("span", key("c"), label_id="L", at=FRIDAY_S, passed=False),
        label("span", key("c"), label_id="L", at=1.0),
    ]
    for given in (revisions, revisions[::-1]):
        joined = joined_with(given)
        assert joined.request["verdict"] == "rejected"
        assert list(joined.labels) == ["L"]
        assert joined.labels["L"]["labelled_at"].timestamp() == START_NS / 1e9 + FRIDAY_S


def test_the_latest_judgement_of_an_evaluator_counts() -> None:
    joined = joined_with(
        [
            label("span", key("c"), label_id="old", at=1.0, passed=False),
            label("trace", TRACE, label_id="new", at=FRIDAY_S),
        ]
    )
    assert joined.request["verdict"] == "accepted"
    assert {name: row["current"] for name, row in joined.labels.items()} == {"old": False, "new": True}


def test_a_withdrawn_label_no_longer_judges() -> None:
    given = label("span", key("c"), label_id="L", at=1.0, passed=False)
    back = label("span", key("c"), label_id="L", at=2.0, withdrawn=True)
    joined = joined_with([back, given])
    assert joined.request["verdict"] == "unlabelled"
    assert (joined.labels["L"]["withdrawn"], joined.labels["L"]["current"]) == (True, False)


def test_a_withdrawn_label_uncovers_the_evaluators_earlier_one() -> None:
    joined = joined_with(
        [
            label("span", key("c"), label_id="first", at=1.0),
            label("span", key("c"), label_id="second", at=2.0, passed=False),
            label("span", key("c"), label_id="second", at=3.0, withdrawn=True),
        ]
    )
    assert joined.request["verdict"] == "accepted"
    assert joined.labels["first"]["current"] is True


def test_a_label_given_again_after_it_was_withdrawn_counts() -> None:
    label_of = {"label_id": "L"}
    joined = joined_with(
        [
            label("span", key("c"), at=1.0, passed=False, **label_of),
            label("span", key("c"), at=2.0, withdrawn=True, **label_of),
            label("span", key("c"), at=3.0, passed=True, **label_of),
        ]
    )
    assert joined.request["verdict"] == "accepted"


def test_copies_of_labels_change_nothing() -> None:
    given = label("span", key("c"), passed=False)
    once = joined_with([given])
    twice = joined_with([given | {"source_id": "z9"}, given])
    assert twice.requests == once.requests
    assert twice.labels == once.labels


# Trap 20: labels that are changed in place keep the time of their judgement


@pytest.mark.parametrize(
    ("revision", "verdict"),
    [
        ({"passed": False}, "rejected"),
        ({"passed": True, "withdrawn": True}, "unlabelled"),
    ],
)
def test_trap_20_a_label_that_was_updated_counts_as_it_is_now(revision: Row, verdict: str) -> None:
    first = label("span", key("c"), label_id="L", at=60.0, passed=True, record_id="z", revised_ns=at_ns(60))
    # the record id, which decides between equals, speaks for the first
    second = {**first, "record_id": "a", "revised_ns": at_ns(7200), **revision}
    for given in ([first, second], [second, first], [second, first, second]):
        joined = joined_with(given)
        assert joined.request["verdict"] == verdict
        assert joined.labels["L"]["current"] is (not revision.get("withdrawn", False))


def test_trap_20_what_overrides_a_label_counts_instead() -> None:
    overridden = label("span", key("c"), label_id="a-1", at=60.0, passed=True, revised_ns=at_ns(120))
    invalid = {**overridden, "record_id": "r2", "withdrawn": True, "revised_ns": at_ns(180)}
    override = label("span", key("c"), label_id="a-2", at=180.0, passed=False)
    joined = joined_with([override, invalid, overridden])
    assert {name: row["current"] for name, row in joined.labels.items()} == {"a-1": False, "a-2": True}
    assert joined.request["verdict"] == "rejected"


def test_a_span_that_is_named_without_its_trace_is_found_where_there_is_one() -> None:
    here, there = record("c", 0, 2), record("c", 0, 2, trace=OTHER_TRACE)
    settings = one_workload(quality={})
    assert join([here], [label("span", "c", label_id="L")], settings=settings).labels["L"]["request_key"] == key("c")
    assert join([here, there], [label("span", "c")], settings=settings).labels == {}


# Trap 27: a session's label is no label of its requests


def test_trap_27_a_label_of_a_session_judges_no_request() -> None:
    rows = [record("a", 0, 1, session_id="s"), record("b", 2, 3, session_id="s")]
    joined = join(rows, [label("session", "s", passed=False)], settings=one_workload(quality={}))
    assert {row["verdict"] for row in joined.requests.values()} == {"unlabelled"}
    assert joined.labels == {}


def test_trap_27_labels_of_sessions_are_kept_with_their_session() -> None:
    told = [
        label("session", "s", label_id="old", at=60.0, passed=True),
        label("session", "s", label_id="new", at=120.0, score=0.2, evaluator="judge"),
        label("session", "t", label_id="gone", at=60.0, passed=True, record_id="g1"),
        label("session", "t", label_id="gone", at=120.0, withdrawn=True, record_id="g2"),
        label("trace", TRACE, label_id="of a request"),
    ]
    for given in (told, told[::-1], told + told):
        with connect() as connection:
            connection.register("label_records", pa.Table.from_pylist(given, schema=arrow_schema("label_records")))
            shown = "label_id, subject_kind, subject_id, request_key, passed, score, withdrawn, current"
            compute(connection, "session_label_records")
            found = connection.sql(f"SELECT {shown} FROM ({sql_file('session_labels').text}) ORDER BY ALL").fetchall()
        assert found == [
            ("gone", "session", "t", None, None, None, True, False),
            ("new", "session", "s", None, None, 0.2, False, True),
            ("old", "session", "s", None, True, None, False, False),
        ]


# Trap 28: a score without a scale, and no label at all, are neither pass nor fail


def test_trap_28_a_missing_or_meaningless_label_is_neither_pass_nor_fail() -> None:
    assert joined_with([]).request["pass_quality"] is None
    assert joined_with([label("span", key("c"), score=4.0)]).request["pass_quality"] is None
    assert joined_with([label("span", key("c"), score=4.0)], min_score=3.0).request["pass_quality"] is True
    assert joined_with([label("span", key("c"), score=4.0)], min_score=5.0).request["pass_quality"] is False
