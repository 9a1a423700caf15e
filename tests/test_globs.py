"""Globs of settings mean one thing, whoever reads them: Python, SQL and Polars, each beside the definition itself."""

import polars as pl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from goodput.globs import literal, matches_any, regular
from goodput.plumbing.sql_files import connect

LETTERS = "aA*?[]{}()|\\%_^$.!- ü語😀\n'\""
TEXTS = st.text(LETTERS, max_size=6)


@st.composite
def texts_and_globs(draw: st.DrawFn) -> tuple[str, str]:
    """A text and a glob, of which each letter is mostly that of the text."""
    text = draw(TEXTS)
    near = "".join(draw(st.sampled_from((letter, letter, "?", "*", letter + "*"))) for letter in text)
    return text, draw(st.sampled_from((near, near, draw(TEXTS))))


def is_matched(text: str, glob: str) -> bool:
    """The definition: * is any text, ? any character, all else itself."""
    if not glob:
        return not text
    if glob[0] == "*":
        return any(is_matched(text[start:], glob[1:]) for start in range(len(text) + 1))
    return bool(text) and glob[0] in ("?", text[0]) and is_matched(text[1:], glob[1:])


KNOWN_TRAPS = [
    ("müller", "m?ller"),
    ("a\\b", "a\\b"),
    ("node[1]", "node[1]"),
    ("node1", "node[1]"),
    ("100%", "100_"),
    ("Chat", "chat"),
    ("a\n", "a"),
]


def in_sql(sql: str, pairs: list[tuple[str, str]]) -> list[bool]:
    given_pairs = pl.DataFrame(pairs, schema=["text", "pattern"], orient="row").to_arrow()
    with connect() as connection:
        connection.register("given_pairs", given_pairs)
        return [matched for (matched,) in connection.sql(f"SELECT {sql} FROM given_pairs").fetchall()]


@settings(deadline=None, max_examples=25)
@given(st.lists(texts_and_globs(), min_size=50, max_size=100))
@example(KNOWN_TRAPS)
def test_globs_are_read_alike_by_python_sql_and_polars(pairs: list[tuple[str, str]]) -> None:
    expected = [is_matched(text, glob) for text, glob in pairs]

    assert [matches_any(text, [glob]) for text, glob in pairs] == expected
    assert in_sql("matches_any(text, [pattern])", pairs) == expected
    regexes = [(text, regular([glob])) for text, glob in pairs]
    assert in_sql("regexp_matches(text, pattern)", regexes) == expected
    found = [pl.Series([text]).str.contains(regex).item() for text, regex in regexes]
    assert found == expected


@given(TEXTS)
def test_a_literal_matches_its_text(text: str) -> None:
    assert is_matched(text, literal(text))
    assert "*" not in literal(text)


def test_one_of_several_globs_is_enough_and_without_any_list_of_them_everything_matches() -> None:
    assert matches_any("b", ["a", "b"])
    assert not matches_any("b", [])
    asked = {
        "matches_any('b', ['a', 'b'])": True,
        "matches_any('b', []::VARCHAR[])": False,
        "matches_any(NULL, NULL)": True,
        "matches_any(NULL, ['*'])": True,
        "matches_any(NULL, ['?'])": False,
    }
    assert {sql: in_sql(sql, [("", "")]) for sql in asked} == {sql: [matched] for sql, matched in asked.items()}
