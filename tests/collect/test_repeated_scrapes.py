"""What was worked out of a target's first scrape holds for the next ones: each is as if it were read alone."""

import gzip
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from goodput.collect.prometheus import repeated, text
from goodput.collect.series import histogram_names, metric_names

VLLM = Path(__file__).parents[3] / "shared" / "data" / "captures" / "vllm" / "main" / "prometheus" / "vllm-tiny-0"
FIRST = """# HELP vllm:num_requests_running Requests that run
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m # 1 } 2",engine="0"} 3
# TYPE vllm:generation_tokens counter
vllm:generation_tokens_total{model_name="m"} 40
vllm:generation_tokens_created{model_name="m"} 1.795e+09
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_bucket{model_name="m",le="0.3"} 1
vllm:e2e_request_latency_seconds_bucket{model_name="m",le="0.5"} 2
vllm:e2e_request_latency_seconds_bucket{model_name="m",le="+Inf"} 4
vllm:e2e_request_latency_seconds_count{model_name="m"} 4
vllm:e2e_request_latency_seconds_sum{model_name="m"} 2.5
other_metric 1
"""
NEXT = {
    "the same": FIRST,
    "other values": FIRST.replace(" 3\n", " 5\n").replace(" 40\n", " 1.5e3\n").replace(" 2.5\n", " +Inf\n"),
    "a gauge of nothing": FIRST.replace(" 3\n", " NaN\n"),
    "a bucket of nothing": FIRST.replace('0.5"} 2\n', '0.5"} NaN\n'),
    "begun anew": FIRST.replace("1.795e+09", "1.796e+09"),
    "with a timestamp": FIRST.replace(" 40\n", " 40 1795165200123\n"),
    "with an exemplar": FIRST.replace('0.5"} 2\n', '0.5"} 2 # {trace_id="a"} 0.4\n') + "# EOF\n",
    "with other words": FIRST.replace("Requests that run", "Others"),
    "of another type": FIRST.replace("tokens counter", "tokens gauge"),
    "a series more": FIRST + 'vllm:num_requests_running{engine="1"} 1\n',
    "a bucket less": FIRST.replace('vllm:e2e_request_latency_seconds_bucket{model_name="m",le="0.5"} 2\n', ""),
    "a line that is none": FIRST.replace("other_metric 1", "{x} 1"),
    "a number alone": FIRST.replace("other_metric 1", "7"),
    "no value": FIRST.replace(" 40\n", " none\n"),
    "other line ends and blanks": FIRST.replace("\n", " \t\r\n").replace("} ", "}   "),
    "nothing": "",
}


def assert_as_alone(content: str, at_ns: int) -> None:
    known = metric_names(), histogram_names()
    alone = text.parse(text.numbered(text.lines_of(content)), *known, at_ns)
    read = repeated.parse(content, *known, at_ns)
    assert_frame_equal(read.readings, alone.readings)
    assert_frame_equal(read.bad, alone.bad)
    assert_frame_equal(read.unread, alone.unread, check_row_order=False)
    assert (read.folded, read.samples) == (alone.folded, alone.samples)


@pytest.mark.parametrize("content", NEXT.values(), ids=NEXT)
def test_a_scrape_behind_another_is_read_as_if_it_were_alone(content: str) -> None:
    for number, scrape in enumerate((FIRST, content, FIRST, content)):
        assert_as_alone(scrape, number * 15 * 10**9)


def test_values_are_those_of_the_scrape() -> None:
    repeated.parse(FIRST, metric_names(), histogram_names(), 5)
    later = FIRST.replace(" 40\n", " 41\n").replace('0.5"} 2\n', '0.5"} 3\n').replace(" 2.5\n", " 2.75\n")
    rows = repeated.parse(later, metric_names(), histogram_names(), 20).readings.to_dicts()
    assert [(row["emitted"], row["value"], row["total"], row["bucket_counts"]) for row in rows] == [
        ("vllm:num_requests_running", 3.0, None, None),
        ("vllm:generation_tokens_total", 41.0, None, None),
        ("vllm:e2e_request_latency_seconds", 4.0, 2.75, [1.0, 3.0]),
    ]
    assert {row["time_ns"] for row in rows} == {20}


@pytest.mark.skipif(not VLLM.is_dir(), reason="the shared captures are not here")
def test_scrapes_of_a_real_engine() -> None:
    for path in sorted(VLLM.iterdir())[:24]:
        assert_as_alone(gzip.decompress(path.read_bytes()).decode(), int(path.name.partition(".")[0]) * 10**9)
