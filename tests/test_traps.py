"""The traps of serving telemetry that a plain reading falls into; tests are named after the trap that they guard."""

import re
from pathlib import Path

TRAPS = {
    1: "Delivery is at least once: spans and log records come twice, and would count twice.",
    2: "64-bit numbers are texts in OTLP/JSON, NaN and infinities too.",
    3: "Nanoseconds do not fit into a double.",
    4: "The Collector's compressed files are lengths with messages compressed each for itself, or one stream.",
    5: "A line is a batch, the last one may be torn, and rotated files come again under other names.",
    6: "A missing error is no success, and what was aborted may leave no record at its engine.",
    7: "A counter of successes counts aborts and errors as well.",
    8: "There are several times to first token, with other starts, ends and units.",
    9: "Of what does not stream the time to first token is made up, or never reached a user.",
    10: "Cached tokens are within the input or beside it, reasoning tokens within the output.",
    11: "The same fact has a current and deprecated names, often both at once.",
    12: "Client, gateway and engine record the same call: their tokens would be counted two to four times.",
    13: "An attempt is no request: retries are siblings, hidden, or only counted, from none or from one.",
    14: "Several choices are several spans of one call that repeat its prompt.",
    15: "Ids of answers, requests, calls and traces look alike, and some are used again.",
    16: "What is zero, empty or false is left out: absent is not unknown where the format says so.",
    17: "Monotonic clocks are no times of day.",
    18: "SGLang's files lack times, prefix their lines, put lists into texts and name spans by request.",
    19: "Telemetry is lost and sampled where nobody sees it: only the engine's counters tell.",
    20: "Spans come at their end, labels days later, and labels are changed and taken back.",
    21: "Bills are restated, and what is idle or unused was paid for too.",
    22: "Prices are per token, per million, per instance, or a placeholder; their lists have no dates.",
    23: "Names do not tell counters; these begin anew, come twice and leave readings that are none.",
    24: "A metric's meaning changes with the version of its emitter.",
    25: "Names and addresses of replicas are used again, and one pod holds several engines.",
    26: "Operations change in place, come again, say their numbers in words, or are announced by nobody.",
    27: "A session is never made up, and its label is none of its requests.",
    28: "A missing label, and a score without a scale, are neither pass nor fail.",
    29: "Durations are negative or absurd: they are set aside, never clamped.",
    30: "Health checks and synthetic traffic are no users' requests.",
}


def test_each_trap_has_a_test_named_after_it() -> None:
    tests = (path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    named = {int(number) for text in tests for number in re.findall(r"^def test_trap_(\d+)_", text, re.MULTILINE)}
    assert named == set(TRAPS)
