"""Any combination of client, gateway and engine gives what it can say, and each difference has a reason."""

import pytest

from end_to_end.layer_views import CAPTURES, COMBINATIONS, Compared, compared, difference, line, lines_of_page

pytestmark = [
    pytest.mark.skipif(not CAPTURES.is_dir(), reason="the shared captures are not beside this checkout"),
    pytest.mark.only("requests", "attempts", "cost_ledger"),
]


@pytest.fixture(scope="module", params=COMBINATIONS)
def layers(request: pytest.FixtureRequest) -> tuple[str, Compared]:
    return request.param, compared(request.param)


def test_every_difference_has_a_reason(layers: tuple[str, Compared]) -> None:
    _, found = layers
    assert "unexplained" not in {difference(*pair) for pair in found.pairs}


def test_one_call_is_one_attempt_on_one_replica(layers: tuple[str, Compared]) -> None:
    _, found = layers
    assert found.attempts == found.requests
    assert set(found.replicas) <= {"vllm-tiny-0"}


def test_money_is_counted_once(layers: tuple[str, Compared]) -> None:
    """What the machine cost does not depend on which layers were traced: 480 s of scrapes at 2 USD an hour."""
    assert layers[1].usd == pytest.approx(480 / 3600 * 2, rel=0.02)


def test_with_all_layers_the_verdicts_and_tokens_are_the_clients() -> None:
    found = compared("CGE")
    right = sum(difference(*pair) is None for pair in found.pairs)
    assert right >= 0.98 * len(found.pairs) == 0.98 * 618
    for row, request in found.pairs:
        if row["outcome"] == "ok":
            assert request is not None
            assert (request["input_tokens"], request["output_tokens"]) == (row["input_tokens"], row["output_tokens"])
            assert request["cached_input_tokens"] in {None, row["cached_tokens"]}
    through_gateway = [request for row, request in found.pairs if row["via"] == "gateway" and row["outcome"] == "ok"]
    assert sum(request["cached_input_tokens"] is not None for request in through_gateway if request) == 372


@pytest.mark.parametrize("number", range(len(COMBINATIONS)), ids=COMBINATIONS)
def test_the_page_has_what_the_bytes_give(number: int) -> None:
    assert lines_of_page()[number] == line(COMBINATIONS[number])


@pytest.mark.parametrize(("part", "layers", "several"), [("restart", "CE", 5), ("crash", "CGE", 1)])
def test_while_the_engine_is_down_tries_without_a_span_above_are_requests_of_their_own(
    part: str, layers: str, several: int
) -> None:
    """Each of three refused connections is a trace of its own with no id in common: nothing shows that they are one.

    All other requests have the verdict that their client's clock gives, or a reason.
    """
    found = compared(layers, part).found
    apart = [(row, requests) for row, requests in found if len(requests) > 1]
    assert len(apart) == several
    for row, requests in apart:
        tries = row["attempts"]
        assert not row["in_one_trace"]
        assert len({tried["trace_id"] for tried in tries}) == len(tries) == len(requests)
        assert {tried["response_id"] for tried in tries} == {None}
        assert {(request["verdict"], request["error_type"]) for request in requests} == {
            ("failed", "ClientConnectorError")
        }
    whole = [difference(row, requests[0]) for row, requests in found if len(requests) == 1]
    assert len(whole) == len(found) - several
    assert [reason for reason in whole if reason] == (
        ["a stream without a first token that has text"] if part == "crash" else []
    )
