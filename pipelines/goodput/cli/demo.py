"""`goodput demo`: a simulated day of a small fleet, run through the pipeline, and the result."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from goodput.cli.headline import ask_further, print_headline
from goodput.cli.progress import on_terminal
from goodput.cli.report import REPORT
from goodput.cli.run import ended_plainly
from goodput.plumbing.workspace import Workspace
from goodput.report.write import write_page

LANDING, SETTINGS = "landing", "goodput.toml"


def demo(
    folder: Annotated[
        Path, typer.Argument(help="Where telemetry, settings and lake go; made if it is not there.")
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Another seed is another day.")] = 7,
    hours: Annotated[
        float,
        typer.Option(help="Simulated hours, to which the same day is compressed or stretched.", min=0.1, max=240.0),
    ] = 2.0,
    requests: Annotated[
        int | None, typer.Option(help="About how many requests; as dense as 100,000 a day unless given.", min=100)
    ] = None,
) -> None:
    """Simulate a day of an LLM fleet, write its telemetry and bills, run the pipeline on them and show the result.

    Example: goodput demo demo
    """
    from goodput.run import report_to_dagster, run  # noqa: PLC0415  (slow to import; help must not wait for it)
    from goodput.simulate.demo import TRUTH, demo_settings, write_demo  # noqa: PLC0415

    err = Console(stderr=True)
    config = folder / SETTINGS
    with on_terminal(err) as progress:
        done = progress.measure("simulating a fleet", 100)
        seen = 0

        def advance(now: int, _of: int) -> None:
            nonlocal seen
            done(now - seen)
            seen = now

        write_demo(folder / LANDING, seed=seed, hours=hours, requests=requests, on_progress=advance)
        config.write_text(demo_settings(), encoding="utf-8")
        workspace = Workspace(config, progress=progress)
        with ended_plainly(workspace.lake):
            ran = run(workspace, report=False)
    err.print(f"Telemetry is in {folder / LANDING}, what really happened in {folder / TRUTH}, settings in {config}.")
    try:
        print_headline(config, None)
        write_page(config, None, folder / REPORT)
        typer.echo(f"All of this in a page, to be opened in a browser: {folder / REPORT}")
        typer.echo(ask_further(config))
    finally:
        report_to_dagster(workspace, ran)  # who looks at the page need not wait for it
