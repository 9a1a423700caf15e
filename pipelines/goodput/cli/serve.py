"""`goodput serve`: the report as a live page, with the requests and alarms behind it."""

from pathlib import Path
from typing import Annotated

import typer

from goodput.cli.options import Config, LakeRoot
from goodput.listen.token import SERVE_TOKEN, read_token
from goodput.plumbing.several_lakes import refuse_several
from goodput.settings.load import load_settings


def serve(  # noqa: PLR0913, PLR0917  (the command's options)
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 is any of this machine's.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8787,
    token_file: Annotated[
        Path | None,
        typer.Option(help=f"File with the token that readers have to give as their password; else ${SERVE_TOKEN}."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen beyond this machine without a token: the network is trusted.")
    ] = False,
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """Serve the report as a live page until interrupted, with the requests behind its windows and each alarm.

    It only reads, follows what runs publish, and is safe beside them.

    Example:
      goodput serve
      goodput serve --host 0.0.0.0 --token-file /run/secrets/goodput-token
    """
    settings = load_settings(config, lake=lake)
    refuse_several(settings.lake_path)
    token = read_token(token_file, SERVE_TOKEN)
    from goodput.listen.address import Address  # noqa: PLC0415  (help must not wait for it)
    from goodput.serve import server  # noqa: PLC0415

    server.serve(settings, Address(host, port, token, insecure), lambda text: typer.echo(text, err=True))
