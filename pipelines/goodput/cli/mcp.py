"""`goodput mcp`: the published database for language models, by the Model Context Protocol."""

from typing import Annotated

import typer

from goodput.cli.options import Config, LakeRoot
from goodput.errors import ExtraMissing
from goodput.plumbing.several_lakes import refuse_several
from goodput.settings.load import load_settings

_PACKAGES = {"mcp", "mcp_types"}


def mcp(
    config: Config = None,
    lake: LakeRoot = None,
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Rows of an answer.")] = 200,
    max_seconds: Annotated[float, typer.Option("--max-seconds", min=0.1, help="How long an answer may take.")] = 10.0,
    max_bytes: Annotated[int, typer.Option("--max-bytes", min=1000, help="How long an answer may be.")] = 50_000,
) -> None:
    """Let a language model ask the published database: the Model Context Protocol over standard input and output.

    Started by the client that asks, not by hand. Its tools only read: tables, query, explain, alarms, compare, frontier
    and report. An answer that was cut says so.

    Example:
      goodput mcp --config /srv/fleet/goodput.toml
    """
    # mistakes are reported to whoever starts it, not to the model
    refuse_several(load_settings(config, lake=lake).lake_path)
    try:
        from goodput.mcp_server.asking import AnswerLimits, Asker  # noqa: PLC0415  (an extra, and slow to import)
        from goodput.mcp_server.server import made  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise ExtraMissing("goodput mcp", "mcp") from error
    made(Asker(config, lake, AnswerLimits(max_rows, max_seconds, max_bytes))).run("stdio")
