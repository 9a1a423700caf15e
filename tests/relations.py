"""docs/relations.md: what each published relation and column means, written from contracts and headers of sql/.

`python -m relations` (with tests/ on the path) writes the page anew; a test holds that it is up to date.
"""

import re
from collections.abc import Iterator

from documents import ROOT
from goodput.contracts import Contract, contract, contract_names
from goodput.plumbing.database import BESIDE_CONTRACTS, DERIVED
from goodput.plumbing.graph import inputs_of
from goodput.plumbing.node import STORED
from goodput.plumbing.published_macros import PUBLISHED_MACROS
from goodput.plumbing.sql_files import sql_file, sql_names

PAGE = ROOT / "docs/relations.md"
PUBLIC = sorted(
    {name for name in contract_names() if contract(name).published in ("table", "view")}
    | {*DERIVED, *BESIDE_CONTRACTS, "deliveries"}
    | {*PUBLISHED_MACROS}
)
_HEAD = """# Relations

Every relation of `goodput.duckdb`, from its contract (`schemas/`) and the header of its SQL (`sql/`): `make relations`
writes this page, `goodput tables NAME` prints the same. [Semantics](semantics.md) defines the numbers, and
[questions](questions.md) asks them.

**Bold** columns are the key. NULL is *not known* or *does not apply*, never 0. Times are UTC.
"""
_CITED = re.compile(r"docs/(?P<page>\w+)\.md(?P<anchors>#[a-z0-9-]+(?:, #[a-z0-9-]+)*)")
_HELD = {"windows": "hour, and of longer windows by day"}


def page() -> str:
    """The whole page."""
    index = "\n".join(f"- [{name}](#{name})" for name in PUBLIC)
    return "\n".join([_HEAD, index, *(line for name in PUBLIC for line in _section(name))]) + "\n"


def _section(name: str) -> Iterator[str]:
    yield from ("", f"## {name}", "")
    if name in BESIDE_CONTRACTS:
        says, columns = BESIDE_CONTRACTS[name]
        yield from (f"{says}.", "", "| column | meaning |", "|---|---|")
        yield from (f"| {column} | {_text(meaning)} |" for column, meaning in columns.items())
        return
    found = contract(name) if name in contract_names() else None
    header = sql_file(name).header if name in sql_names() else {}
    yield _sentence(found.description if found else header["description"])
    facts = list(_facts(name, found, header))
    if facts:
        yield from ("", *facts)
    if found:
        yield from ("", "| column | type | unit | meaning |", "|---|---|---|---|")
        yield from _columns(found)


def _facts(name: str, found: Contract | None, header: dict[str, str]) -> Iterator[str]:
    if grain := header.get("grain"):
        yield f"- One row for each: {_text(grain)}"
    for word in ("unit", "identity"):
        if word in header:
            yield f"- {word.capitalize()}: {_text(header[word])}"
    if found and found.layer and found.partition != "none":
        yield f"- Computed by {_HELD.get(found.partition, found.partition)}"
    if name in sql_names():
        read = sorted(inputs_of([name], STORED) & set(PUBLIC) - {name})
        if read:
            yield f"- Made from {', '.join(f'[{one}](#{one})' for one in read)}"


def _columns(found: Contract) -> Iterator[str]:
    for column in found.columns:
        shown = f"**{column.name}**" if column.primary_key else column.name
        listed = ", ".join(column.valid_values)
        values = f". One of: {listed}" if _is_unlisted(column.description, column.valid_values) else ""
        yield f"| {shown} | {column.duckdb_type} | {column.unit or ''} | {_text(column.description)}{values} |"


def _is_unlisted(description: str, values: tuple[str, ...]) -> bool:
    return bool(values) and not all(value in description for value in values)


def _text(text: str) -> str:
    """As a cell holds it: names of sections as links, `|` and `<` as they are."""
    linked = _CITED.sub(_link, text)
    return linked.replace("|", "\\|").replace("<", "&lt;")


def _link(match: re.Match[str]) -> str:
    names = match["anchors"].replace("#", "").split(", ")
    return ", ".join(f"[{name.replace('-', ' ')}]({match['page']}.md#{name})" for name in names)


def _sentence(text: str) -> str:
    return _text(text) if text.endswith(".") else f"{_text(text)}."


if __name__ == "__main__":
    PAGE.write_text(page())
