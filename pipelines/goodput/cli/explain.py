"""`goodput explain`: why one request was or was not accepted, with the record behind every fact."""

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from goodput.ask.database import lake_meant, published
from goodput.ask.explained import described, explanation, sections, sole_gate
from goodput.ask.gates import gates, headline
from goodput.ask.request_record import RequestRecord, read_request_record
from goodput.cli.options import Config, LakeRoot
from goodput.cli.render import console, table, until_reader_leaves
from goodput.errors import UnknownRequest


class ExplainFormat(StrEnum):
    """How an explanation is written."""

    text = "text"
    json = "json"


def explain(
    key: Annotated[str, typer.Argument(help="A request key, or the id of an attempt, trace, span or response.")],
    config: Config = None,
    lake: LakeRoot = None,
    format: Annotated[ExplainFormat, typer.Option("--format")] = ExplainFormat.text,
) -> None:
    """Say why a request was or was not accepted: every gate, attempt, label, and where each fact came from.

    A place reads file:line, with #n for the n-th record of that line, counted from 0.

    Example:
      goodput explain 4bf92f3577b34da6a3ce929d0e0e4736
      goodput explain chatcmpl-123 --format json
    """
    with until_reader_leaves(), published(config, lake) as connection:
        try:
            request_record = read_request_record(connection, key.strip())  # a line of CSV ends in CR LF
        except UnknownRequest as error:
            raise UnknownRequest(key.strip(), _gone_before(config, lake)) from error
        if format is ExplainFormat.json:
            import msgspec  # noqa: PLC0415  (text does not need it)

            encoded = msgspec.json.encode(explanation(request_record), enc_hook=str)
            sys.stdout.write(msgspec.json.format(encoded, indent=2).decode() + "\n")
        else:
            print_explanation(request_record, console())


def _gone_before(config: Path | None, lake: Path | None) -> Mapping[str, str]:
    from goodput.plumbing.pruned import read_pruned  # noqa: PLC0415  (slow to import, and seldom asked)

    folder, _ = lake_meant(config, lake)
    return read_pruned(folder).gone_before


def print_explanation(request_record: RequestRecord, out: Console) -> None:
    """The explanation as text for a person."""
    request = request_record.request
    style = "bold green" if request["verdict"] == "accepted" else "bold red"
    out.print(Text(headline(request_record, gates(request_record)), style=style))
    sole = sole_gate(request_record)
    if sole:
        out.print(sole)
    out.print()
    for name, value in described(request):
        out.print(f"{name:<9}{value}")
    for section in sections(request_record):
        out.print()
        out.print(Text(section.title, style="bold"))
        out.print(table(section.columns, section.lines, out.width, fold_at=section.fold_at))
        if section.note:
            out.print(section.note)
