"""What a run ends with: the latest day at a glance, and how to ask further."""

from pathlib import Path

from goodput.cli.published import published
from goodput.cli.render import console, table
from goodput.plumbing.sql_files import sql_file


def print_headline(config: Path | None, lake: Path | None) -> None:
    """Print goodput of the latest published day, overall and per workload and route; nothing where there is none."""
    with published(config, lake) as connection:
        found = connection.execute(sql_file("headline").text)
        names = [column[0] for column in found.description]
        rows = found.fetchall()
    if rows:
        out = console()
        out.print(table(names, rows, out.width))


def ask_further(config: Path) -> str:
    """Commands that show more of what was just published."""
    return "\n".join(
        [
            "Ask further:",
            f"  goodput tables --config {config}",
            f"  goodput query --config {config} \"from requests where verdict = 'slow' order by ttft_s desc limit 5\"",
            f"  goodput explain --config {config} REQUEST_KEY",
            f"  goodput sources --config {config}",
        ]
    )
