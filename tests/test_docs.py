"""The documentation holds: commands print what it shows, citations and links lead somewhere, lists are complete."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import typer
import yaml
from dagster import AssetKey, DagsterInstance

import relations
from documents import NOT_RUN, PAGES, ROOT, Block, Desk, agree, anchors, blocks, steps
from goodput.cli.main import app
from goodput.measure.slices import SLICES
from goodput.settings.load import load_settings
from goodput.settings.presets import PRESETS
from test_traps import TRAPS

SEMANTICS = ROOT / "docs/semantics.md"
RUN = [page for page in PAGES if any(block.is_run for block in blocks(page))]
CITED = re.compile(r"docs/(?P<page>\w+)\.md(?P<anchors>#[a-z0-9-]+(?:, #[a-z0-9-]+)*)")
BY_NUMBER = re.compile(r"\bsemantics(\.md)?( section)? \d")
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def sources() -> Iterator[Path]:
    for folder in ("pipelines", "sql", "schemas", "tests", "benchmarks"):
        yield from (p for p in (ROOT / folder).rglob("*") if p.suffix in {".py", ".sql", ".yaml", ".toml"})


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("documents"))


# Commands


@pytest.mark.parametrize("page", RUN, ids=named)
def test_commands_print_what_the_page_shows(desk: Desk, page: Path) -> None:
    wrong = [
        f"{named(page)}:{ran.step.line - 1}: exit {ran.status}: {ran.step.command}\n" + "\n".join(ran.printed)
        for ran in desk.run(page)
        if not ran.is_as_expected
    ]
    assert not wrong, "\n\n".join([*wrong, "`python -m documents PAGE` writes what is printed now"])


def test_the_demo_has_its_page_before_it_reports_to_dagster(desk: Desk) -> None:
    """Who tries it waits for the page, and not for the instance."""
    with DagsterInstance.from_config(str(desk.demo.parent / "dagster_home")) as instance:
        (newest,) = instance.fetch_materializations(AssetKey("goodput_database"), limit=1).records
    assert newest.timestamp > (desk.demo / "report.html").stat().st_mtime


def test_few_blocks_are_not_run() -> None:
    consoles = [block for page in PAGES for block in blocks(page) if block.language == "console"]
    assert len([block for block in consoles if NOT_RUN in block.info.split()]) <= len(consoles) / 2


def commands(page: Path) -> Iterator[list[str]]:
    """Every command line of a page that begins with goodput, as words."""
    for block in blocks(page):
        if block.language == "console":
            for step in steps(block):
                for part in re.split(r"&&|\|\||[|;]\s", step.command) if '"' not in step.command else [step.command]:
                    words = shlex.split(part, comments=True)
                    if words[:1] == ["goodput"]:
                        yield words[1:]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_and_options_exist_even_where_they_are_not_run(page: Path) -> None:
    root = typer.main.get_command(app)
    for words in commands(page):
        command, at = root, 0
        while at < len(words) and words[at] in getattr(command, "commands", {}):
            command, at = command.commands[words[at]], at + 1
        assert command is not root or not words, f"goodput has no command {words[:1]}"
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        given = {word.partition("=")[0] for word in words[at:] if word.startswith("--")}
        assert given <= known | {"--help"}, f"goodput {' '.join(words)}"


def test_a_line_of_three_dots_stands_for_any_lines() -> None:
    assert agree(["a", "...", "d"], ["a", "b", "c", "d"])
    assert agree(["...", "d", "..."], ["d"])
    assert agree([], [])
    assert not agree(["a", "...", "d"], ["a", "b"])
    assert not agree(["a"], ["a", "b"])
    assert not agree([], ["a"])


def test_steps_of_a_block() -> None:
    block = Block("console", 10, ("$ one \\", "> two", "printed", "$ three  # why"))
    first, second = steps(block)
    assert (first.command, first.expected, first.line) == ("one \\\ntwo", ("printed",), 12)
    assert (second.command, second.expected) == ("three  # why", ())


# Settings


def fenced(language: str) -> list[tuple[Path, Block]]:
    return [(page, block) for page in PAGES for block in blocks(page) if block.language == language]


@pytest.mark.parametrize(("page", "block"), fenced("toml"), ids=lambda of: named(of) if isinstance(of, Path) else "")
def test_settings_can_be_read(page: Path, block: Block, tmp_path: Path) -> None:
    text = "\n".join(block.lines)
    assert tomllib.loads(text)
    file = tmp_path / "goodput.toml"
    file.write_text(text)
    load_settings(file)


def test_yaml_can_be_read() -> None:
    assert all(yaml.safe_load("\n".join(block.lines)) for _, block in fenced("yaml"))


# Anchors


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in {match["target"] for match in LINK.finditer(text)}:
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        assert to.exists(), target
        assert not anchor or anchor in anchors(to), target


def test_citations_lead_to_a_section() -> None:
    lost = [
        f"{path.relative_to(ROOT)}: {match['page']}.md{name}"
        for path in sources()
        for match in CITED.finditer(path.read_text())
        for name in match["anchors"].split(", ")
        if name.removeprefix("#") not in anchors(ROOT / f"docs/{match['page']}.md")
    ]
    assert not lost


def test_sections_are_cited_by_anchor() -> None:
    by_number = [path.relative_to(ROOT).as_posix() for path in sources() if BY_NUMBER.search(path.read_text())]
    assert not by_number


# Lists that must be complete


def section(page: Path, heading: str) -> str:
    return page.read_text().split(f" {heading}\n", 1)[1].split("\n#", 1)[0]


def test_every_published_relation_is_listed(desk: Desk) -> None:
    with duckdb.connect(desk.demo / "lake/goodput.duckdb", read_only=True) as connection:
        published = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"
        ).fetchall()
    listed = set(re.findall(r"`(\w+)`", section(SEMANTICS, "Published relations")))
    assert {name for (name,) in published} <= listed


def test_the_page_of_relations_is_what_contracts_say_now() -> None:
    assert relations.PAGE.read_text() == relations.page(), "`make relations` writes it"


def test_every_published_column_is_described(desk: Desk) -> None:
    with duckdb.connect(desk.demo / "lake/goodput.duckdb", read_only=True) as connection:
        published = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'main'"
        ).fetchall()
    sections = dict(part.split("\n", 1) for part in relations.PAGE.read_text().split("\n## ")[1:])
    rows = re.compile(r"^\| \**(\w+)\** \|", re.MULTILINE)
    described = {(name, column) for name, text in sections.items() for column in rows.findall(text)}
    assert len(published) > 900
    assert set(published) <= described


def valid_values(table: str, column: str) -> set[str]:
    document = yaml.safe_load((ROOT / f"schemas/{table}.yaml").read_text())
    columns = {item.get("name"): item for item in document["schema"][0]["properties"]}
    (rule,) = columns[column]["quality"]
    return set(rule["arguments"]["validValues"])


@pytest.mark.parametrize(
    ("table", "column", "heading"),
    [
        ("cost_ledger", "bucket", "Buckets"),
        ("goodput", "definition", "Definition"),
    ],
)
def test_every_value_is_explained(table: str, column: str, heading: str) -> None:
    assert valid_values(table, column) <= set(re.findall(r"`(\w+)`", section(SEMANTICS, heading)))


def test_every_slice_that_always_exists_is_explained() -> None:
    assert {row[0] for row in SLICES} <= set(re.findall(r"`(\w+)`", section(SEMANTICS, "Slices")))


def test_every_class_of_work_is_listed() -> None:
    assert set(re.findall(r"^\| `(\w+)`", section(SEMANTICS, "Classes of work"), re.MULTILINE)) == set(PRESETS)


def test_every_trap_is_listed() -> None:
    listed = re.findall(r"^\| (\d+) \|", section(ROOT / "docs/telemetry.md", "Traps"), re.MULTILINE)
    assert [int(number) for number in listed] == sorted(TRAPS)


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200
