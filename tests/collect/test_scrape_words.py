"""Of lines of a scrape that are no samples nothing is taken for the name of a metric."""

from goodput.collect.prometheus import text

LINES = """# TYPE unknown_metric gauge
unknown_metric 3
unknown_metric{a="b"} NaN
other_metric +Inf
my secret words
secret = 4711
word1 is no number
"""


def test_only_what_looks_like_a_sample_has_a_name() -> None:
    scrape = text.parse(text.numbered(text.lines_of(LINES)), [], [], None)
    assert sorted(scrape.unread.iter_rows()) == [("other_metric", 1), ("unknown_metric", 2)]
    assert [line for line, _ in scrape.bad.iter_rows()] == [5, 6, 7]
    assert scrape.samples == 6
