"""Which operation an alarm names: by pool, by what such an operation can do, by nearness to the onset."""

import pytest

from goodput.monitor.causes import OpsEvent, last_operation, likely_cause

H = 3600.0
ONSET, AT = 100 * H, 106 * H


def done(kind: str, hour: float, pool: str | None = "chat", replica: str | None = None) -> OpsEvent:
    return OpsEvent(hour * H, kind, pool, replica)


ROTATION = done("salt_rotation", 99)


@pytest.mark.parametrize(
    ("metric", "others", "named"),
    [
        ("hit_ratio", [done("deployment", 102, "rag")], ROTATION),  # of another pool, however near
        ("hit_ratio", [done("deployment", 103)], ROTATION),  # later than the onset
        ("hit_ratio", [done("deployment", 99.5)], ROTATION),  # as near: but hits are what a rotation costs
        ("hit_ratio", [done("incident", 100)], ROTATION),
        ("p99_ttft_s", [done("deployment", 98)], done("deployment", 98)),  # which slows engines, a rotation less so
        ("kv_usage_ratio", [done("deployment", 95)], done("deployment", 95)),  # a rotation holds no memory
        ("hit_ratio", [done("scale_out", 100, None)], ROTATION),
        ("hit_ratio", [done("deployment", 107)], ROTATION),  # after the alarm
    ],
)
def test_the_nearest_that_can_do_it_is_named(metric: str, others: list[OpsEvent], named: OpsEvent) -> None:
    assert likely_cause([ROTATION, *others], metric, {"pool": "chat"}, (ONSET, 3600), AT) == named


def test_what_is_far_from_the_onset_is_only_the_last_operation() -> None:
    old = done("deployment", 80)
    assert likely_cause([old], "p99_ttft_s", {"pool": "chat"}, (ONSET, 3600), AT) is None
    assert last_operation([old], {"pool": "chat"}, AT) == old
    assert last_operation([old, done("deployment", 105, "rag")], {"pool": "chat"}, AT) == old
    assert last_operation([done("deployment", 30)], {"pool": "chat"}, AT) is None


def test_a_restart_of_one_replica_explains_no_other() -> None:
    restart = done("restart", 99, replica="vllm-1")
    assert (
        likely_cause([restart], "replica_hit_ratio", {"pool": "chat", "replica": "vllm-0"}, (ONSET, 3600), AT) is None
    )
    assert (
        likely_cause([restart], "replica_hit_ratio", {"pool": "chat", "replica": "vllm-1"}, (ONSET, 3600), AT)
        == restart
    )
