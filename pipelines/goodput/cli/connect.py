"""`goodput connect`: what bytes hold before any settings exist, and the settings that fit them."""

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from goodput.ask.cells import plain
from goodput.ask.formats import destination, encoder
from goodput.cli.options import Config
from goodput.cli.render import console, table, until_reader_leaves
from goodput.errors import NothingReadable, TargetUnreadable
from goodput.settings.lake_address import url_of
from goodput.settings.load import load_settings

if TYPE_CHECKING:
    from goodput.connect.look import LookedFile
    from goodput.connect.report import ConnectReport  # which imports all readers, for which help must not wait
    from goodput.connect.unread import Attribute

_FILES, _GROUPS, _ATTRIBUTES, _METRICS, _EVENTS, _HASHES = 20, 10, 40, 100, 10, 3


class ConnectFormat(StrEnum):
    """How the report is written."""

    table = "table"
    json = "json"


def connect(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE|FOLDER|URL",
            help="What to look at; a URL is read once: a file, or /metrics; or s3://, gs://, az://.",
        ),
    ],
    config: Config = None,
    format: Annotated[ConnectFormat, typer.Option("--format", help="json holds every finding.")] = ConnectFormat.table,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Read a URL in a private network, or without encryption, too.")
    ] = False,
) -> None:
    """Look at telemetry before any settings exist: who emits, which facts are there, what stays NULL and why.

    Nothing is written. Values of attributes that no dialect reads are shown as hashes, new ones in each report.

    Example:
      goodput connect /var/lib/otel
      goodput connect --allow-private http://vllm-0:8000/metrics
    """
    from goodput.connect.fetch import fetched, is_url  # noqa: PLC0415
    from goodput.connect.report import report  # noqa: PLC0415

    settings = load_settings(config)
    where = fetched(target, allow_private=allow_private) if is_url(target) else nullcontext(_path(target))
    with where as path, until_reader_leaves():
        found = report(settings, path)
        if format is ConnectFormat.json:
            with destination(None) as stream:
                stream.write(encoder().encode(found.data()) + b"\n")
        else:
            _print(console(), found, target)
    if not found.looked.is_readable:
        raise NothingReadable(target, is_empty=not found.looked.files_there)


def _path(text: str) -> Path:
    path = Path(text)
    if url_of(text) is None and not path.exists():
        raise TargetUnreadable(text, "is not there")
    return path


def _print(out: Console, found: "ConnectReport", target: str) -> None:
    _print_files(out, found, target)
    _print_emitters(out, found)
    _print_missing(out, found)
    if found.looked.is_readable:
        _print_layers(out, found)
    _print_doubles(out, found)
    _print_calls(out, found)
    _print_metrics(out, found)
    if found.looked.is_readable or found.calls:
        _headed(out, "Settings to paste into goodput.toml")
        out.print(plain_lines(found.settings))


def plain_lines(text: str) -> str:
    """Text of several lines, each with nothing in it that could steer a terminal."""
    return "\n".join(plain(line) for line in text.split("\n"))


def _headed(out: Console, heading: str) -> None:
    out.print()
    out.print(plain(heading))
    out.print()


def _print_files(out: Console, found: "ConnectReport", target: str) -> None:
    looked = found.looked
    files = _folded(looked.files)
    shown = sorted(files, key=lambda file: not file.remark)[:_FILES]
    rows = [
        (file.path, file.reader, file.rows, _counted(file.kept), _counted(file.ignored + file.refused), _remark(file))
        for file in sorted(shown, key=lambda file: file.path)
    ]
    out.print(plain(f"{target}: {_plural(len(looked.files), 'file')} of {looked.files_there} looked at"))
    if looked.is_sample:
        out.print("This is a sample: large files, and folders with many, are looked at in part; ingest reads all.")
    out.print()
    if rows:
        names = ("file", "read as", "rows", "kept", "not kept", "remark")
        out.print(table(names, rows, out.width))
    if len(files) > _FILES:
        out.print(f"and {len(files) - _FILES} more lines; --format json has every file")
    if looked.copies:
        out.print(f"{looked.copies} records are copies of others: ingest keeps one of each.")


def _folded(files: "list[LookedFile]") -> "list[LookedFile]":
    """The files, with the scrapes of one target as one."""
    found: dict[tuple[str, str], LookedFile] = {}
    for file in files:
        folder = file.path.rpartition("/")[0]
        is_scrape = file.reader == "prometheus" and not file.remark
        path = f"{folder}/*.prom" if is_scrape and folder else file.path
        before = found.get((path, file.reader))
        found[path, file.reader] = file if before is None else before.with_rows_of(file)
    return [replace(file, path=path) for (path, _), file in found.items()]


def _remark(file: object) -> str:
    remark = getattr(file, "remark", None)
    sample = "looked at in part" if getattr(file, "is_sample", False) else None
    return "; ".join(text for text in (remark, sample) if text)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()) if count)


def _print_emitters(out: Console, found: "ConnectReport") -> None:
    if not found.emitters:
        return
    _headed(out, "Emitters of calls, and the share of their records with each fact")
    facts = list(found.emitters[0].shares)
    rows = [
        (
            *(one.dialect, one.scope, one.version, one.layer, one.records),
            *(_percent(one.shares[fact]) for fact in facts),
            ", ".join(one.models[:3]) + (" ..." if len(one.models) > 3 else ""),
        )
        for one in found.emitters
    ]
    names = ("dialect", "scope", "version", "layer", "records", *(fact.removesuffix("_s") for fact in facts), "models")
    out.print(table(names, rows, out.width))


def _percent(share: float) -> str:
    whole = int(100 * share)  # 100 % is all of them, and 0 % none
    return f"{whole if whole or not share else 1} %"


def _print_missing(out: Console, found: "ConnectReport") -> None:
    rows = [
        (one.name, missing.fact, _percent(missing.share), _why(missing.why, missing.candidates, missing.fact))
        for one in found.emitters
        for missing in one.missing
    ]
    if rows:
        _headed(out, "What stays NULL, and why")
        out.print(table(("emitter", "fact", "there", "why"), rows, out.width))


def _why(why: str, candidates: tuple[str, ...], fact: str) -> str:
    return f"{', '.join(candidates)} may carry it: name it in attributes.{fact}" if candidates else why


def _print_layers(out: Console, found: "ConnectReport") -> None:
    _headed(out, "Layers, and what lies beside")
    rows = [(f"{name} records", count, why) for name, (count, why) in found.layers.items()]
    rows += [(name, count, remark) for name, (count, remark) in found.beside.items()]
    out.print(table(("what", "rows", "from, or what is not known without"), rows, out.width))


def _print_doubles(out: Console, found: "ConnectReport") -> None:
    if not found.doubles:
        return
    _headed(out, "Probable double counts: calls that one layer reports twice")
    rows = [(d.layer, d.first, d.second, d.calls, _percent(d.share), d.sign) for d in found.doubles]
    out.print(table(("layer", "emitter", "and", "calls", "of the smaller", "sign"), rows, out.width))
    out.print("Switch one of them off, or leave one out by [leave_out]; where ids agree the records are joined.")


def _print_calls(out: Console, found: "ConnectReport") -> None:
    looked = found.looked
    if found.calls:
        _headed(out, "Spans that no dialect reads and that look like calls")
        rows = [(g.scope or None, g.name, g.kind, g.spans, beside) for g, beside in found.calls[:_GROUPS]]
        out.print(table(("scope", "name", "kind", "spans", "remark"), rows, out.width))
        for group, beside in found.calls[:_GROUPS]:
            if not beside:
                _print_attributes(out, f"Attributes of {group.name}", list(group.attributes.values()))
    if looked.unread.others:
        out.print()
        out.print(f"{_plural(looked.unread.others, 'other span')} are not read and do not look like calls.")
    if looked.unread.objects_unread:
        rows_there = looked.unread.objects_unread
        heading = f"Keys of {_plural(rows_there, 'JSON object')} that no dialect reads"
        _print_attributes(out, heading, list(looked.unread.object_keys.values()))
    if looked.unread.events:
        out.print()
        events = looked.unread.events
        counts = ", ".join(f"{name}: {count}" for name, count in events.most_common(_EVENTS))
        more = f", and {_plural(len(events) - _EVENTS, 'other event')}" if len(events) > _EVENTS else ""
        out.print(plain(f"Log records that are no labels, by event: {counts}{more}"))


def _print_attributes(out: Console, heading: str, attributes: "list[Attribute]") -> None:
    _headed(out, heading)
    ranked = sorted(attributes, key=lambda one: (-one.rows, one.name))[:_ATTRIBUTES]
    rows = [
        (one.name, one.rows, ", ".join(sorted(one.types)), len(one.values), " ".join(sorted(one.values)[:_HASHES]))
        for one in ranked
    ]
    out.print(table(("attribute", "rows", "type", "distinct values", "hashes of some"), rows, out.width))


def _print_metrics(out: Console, found: "ConnectReport") -> None:
    unknown = found.looked.unread.unknown_metrics
    if unknown:
        _headed(out, f"Metrics that no dialect knows: {len(unknown)}")
        out.print(plain(", ".join(unknown[:_METRICS])) + (" ..." if len(unknown) > _METRICS else ""))


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
