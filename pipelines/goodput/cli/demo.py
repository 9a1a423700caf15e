"""`goodput demo`: an hour of a small fleet's telemetry, through the whole pipeline, and what came out."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from goodput.cli.headline import ask_further, print_headline
from goodput.cli.progress import on_terminal
from goodput.plumbing.workspace import Workspace

LANDING, SETTINGS = "landing", "goodput.toml"


def demo(
    folder: Annotated[
        Path, typer.Argument(help="Where telemetry, settings and lake go; made if it is not there.")
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Another seed is another hour.")] = 7,
) -> None:
    """Simulate an hour of an LLM fleet, write its telemetry as OTLP files, run the pipeline on it and show the result.

    Example: goodput demo demo
    """
    from goodput.run import run  # noqa: PLC0415  (slow to import; help must not wait for it)
    from goodput.simulate.demo import demo_settings, write_demo  # noqa: PLC0415

    said = Console(stderr=True)
    config = folder / SETTINGS
    with on_terminal(said) as progress:
        done = progress.measure("simulating an hour", 100)
        seen = 0

        def tell(now: int, _of: int) -> None:
            nonlocal seen
            done(now - seen)
            seen = now

        write_demo(folder / LANDING, seed=seed, on_progress=tell)
        config.write_text(demo_settings(), encoding="utf-8")
        run(Workspace(config, progress=progress))
    said.print(f"An hour of telemetry is in {folder / LANDING}, its settings in {config}, the result below.")
    print_headline(config, None)
    typer.echo(ask_further(config))
