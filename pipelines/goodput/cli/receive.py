"""`goodput receive`: take OTLP over HTTP and gRPC into the landing zone, where no Collector does."""

from pathlib import Path
from typing import Annotated

import typer

from goodput.listen.token import RECEIVE_TOKEN, read_token
from goodput.settings.load import load_settings


def receive(  # noqa: PLR0913, PLR0917  (the command's options)
    config: Annotated[Path | None, typer.Option(help="Settings file; ./goodput.toml where it exists.")] = None,
    landing: Annotated[Path | None, typer.Option(help="Landing folder instead of the settings' own.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 is any of this machine's.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port for HTTP; 0 takes a free one.")] = 4318,
    grpc_port: Annotated[int, typer.Option(min=0, max=65535, help="Port for gRPC; 0 takes a free one.")] = 4317,
    no_grpc: Annotated[bool, typer.Option("--no-grpc", help="Take HTTP alone.")] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(help=f"File with the bearer token that senders have to give; else ${RECEIVE_TOKEN}."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen beyond this machine without a token: the network is trusted.")
    ] = False,
) -> None:
    """Receive traces, logs and metrics (OTLP, HTTP or gRPC) and write them to the landing zone until interrupted.

    Example:
      goodput receive
      goodput receive --host 0.0.0.0 --token-file /run/secrets/otlp-token
    """
    settings = load_settings(config, landing=[landing] if landing else [])
    token = read_token(token_file, RECEIVE_TOKEN)
    from goodput.receive import server  # noqa: PLC0415  (help must not wait for it)

    address = server.ReceiverAddress(host, port, token, insecure, None if no_grpc else grpc_port)
    server.receive(settings, address, lambda text: typer.echo(text, err=True))
