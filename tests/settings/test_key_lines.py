"""Lines of keys, as a person counts them: lists of tables, quoted and dotted keys, texts of several lines."""

import tomllib

from goodput.settings.key_lines import key_lines

TEXT = '''\
# landing = "not this one"
landing = ["a",
  "b"]
notify.retention_s = 3

[workloads."a.b"]  # a name with a dot
ttft_s = 1
match = { model = "x" }

[[alarms.rules]]
metric = "one"
[alarms.rules.labels]
pool = "chat"

[[ alarms.rules ]]
metric = "two"
note = """
[workloads.none]
metric = "no key: a text"
[alarms]
"""
[alarms.rules.labels]
pool = "rag"
'''


def test_each_key_is_where_it_stands() -> None:
    assert key_lines(TEXT, tomllib.loads(TEXT)) == {
        "landing": 2,
        "notify.retention_s": 4,
        "workloads.a.b": 6,
        "workloads.a.b.ttft_s": 7,
        "workloads.a.b.match": 8,
        "alarms.rules": 10,
        "alarms.rules.0": 10,
        "alarms.rules.0.metric": 11,
        "alarms.rules.0.labels": 12,
        "alarms.rules.0.labels.pool": 13,
        "alarms.rules.1": 15,
        "alarms.rules.1.metric": 16,
        "alarms.rules.1.note": 17,
        "alarms.rules.1.labels": 22,
        "alarms.rules.1.labels.pool": 23,
    }


def test_no_key_has_no_line() -> None:
    assert key_lines("", {}) == {}
