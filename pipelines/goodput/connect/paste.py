"""The settings that fit what was seen, as text to paste into goodput.toml."""

import re
from collections.abc import Iterable, Iterator

import polars as pl

from goodput.connect.fields import Emitter
from goodput.connect.look import Looked
from goodput.connect.unread import Attribute, SpanGroup
from goodput.globs import literal
from goodput.settings.model import Attributes

_WORKLOADS = 10
_TOKENS = r"(?i)({0})[._]?tokens?([._]?count)?$|tokens?[._]?count[._]({0})$|usage[._]({0})$"
_GUESSES = (  # columns by what attributes of their meaning are called
    ("model", r"(?i)(^|[._])(response[._])?model([._]?(name|id|used))?$"),
    ("input_tokens", _TOKENS.format("prompt|input|in")),
    ("output_tokens", _TOKENS.format("completion|output|out")),
    ("session_id", r"(?i)(session|conversation|thread)[._-]?id$"),
    ("response_id", r"(?i)response[._-]?id$"),
    ("finish_reason", r"(?i)finish[._-]?reasons?$"),
)
_ASKED = re.compile(r"(?i)(^|[._])(max|min|limit)|settings")  # what was allowed, not what came


def settings_text(looked: Looked, found: Iterable[Emitter], landing: str, attributes: Attributes) -> str:
    """TOML with landing, lake, a workload per model, attributes that carry sessions, a dialect for unread calls."""
    found = list(found)
    lines = [f"landing = [{quoted(landing)}]", 'lake = "lake"', *_attributes(found, attributes)]
    lines += _workloads(looked.records)
    unread = [group for group, beside in looked.unread.calls() if group.looks and not beside]
    if unread:
        lines += _dialect(unread[0])
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A TOML basic string of printable characters only."""
    return '"' + "".join(_escaped(letter) for letter in text) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _attributes(found: list[Emitter], attributes: Attributes) -> Iterator[str]:
    wanted = {
        fact: sorted({name for one in found for m in one.missing if m.fact == fact for name in m.candidates})
        for fact in ("session_id", "tenant")
    }
    if any(wanted.values()):
        yield from ("", "[attributes]")
        for fact, names in wanted.items():
            if names:
                listed = ", ".join(quoted(name) for name in (*getattr(attributes, fact), *names))
                yield f"{fact} = [{listed}]"


def _workloads(records: pl.DataFrame) -> Iterator[str]:
    by = "model" if records["model"].null_count() < records.height else "pool"
    named = records.drop_nulls(by)
    if not named.height:
        return
    taken: set[str] = set()
    several = named[by].n_unique() > 1
    for (value,), rows in sorted(named.group_by(by), key=lambda item: (-item[1].height, str(item[0][0])))[:_WORKLOADS]:
        name = _key(str(value), taken)
        yield from ("", f"[workloads.{name}]")
        if several:  # of one alone all is its, also what failed before anything named a model
            yield f"match = {{ {by} = {quoted(literal(str(value)))} }}"
        for gate in ("ttft_s", "e2e_s"):
            seen = rows[gate].drop_nulls()
            if seen.len():
                p95_s = float(seen.quantile(0.95, "higher") or 0)
                yield f"#{gate} = {p95_s:.3f}   # the p95 of {seen.len()} records: set what is good enough"
    if several and named.height < records.height:
        nameless = records.height - named.height
        yield from ("", f"[workloads.{_key('other', taken)}]   # {nameless} record(s) name no {by}, failures as a rule")


def _key(value: str, taken: set[str]) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", value.rpartition("/")[2].lower()).strip("-")[:40] or "workload"
    stem = "other" if stem == "unassigned" else stem
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    taken.add(name)
    return name


def _dialect(group: SpanGroup) -> Iterator[str]:
    """A dialect for spans of one name and scope; a column for each attribute whose name shows what it carries."""
    name = _key(group.scope or group.name, set())
    scope = f", scope = {quoted(group.scope)}" if group.scope else ""
    yield from ("", f"[dialects.{name}]   # a proposal by the names of attributes: check each line")
    yield f'layer = "{"gateway" if group.kind == "server" else "client"}"'
    yield f"match = {{ name = {quoted(group.name + '*' if group.is_cut else group.name)}{scope} }}"
    yield f"[dialects.{name}.fields]"
    for column, attribute in guesses(group.attributes.values()):
        yield f"{column} = {quoted(attribute)}"


def guesses(attributes: Iterable[Attribute]) -> Iterator[tuple[str, str]]:
    """Columns that attributes seem to carry by their names, each once, by the attribute that most rows have."""
    ranked = sorted(attributes, key=lambda one: (-one.rows, one.name))
    for column, pattern in _GUESSES:
        named = (one.name for one in ranked if re.search(pattern, one.name) and not _ASKED.search(one.name))
        attribute = next(named, None)
        if attribute:
            yield column, attribute
