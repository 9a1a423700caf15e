"""`goodput doctor`: look over installation, settings, landing zone, lake and deliveries, and say what to do."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from goodput.ask.cells import plain
from goodput.cli.options import Config, LakeRoot
from goodput.cli.render import console, table, until_reader_leaves
from goodput.errors import SettingsError
from goodput.settings.lake_address import DEFAULT_FILE
from goodput.settings.load import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from goodput.doctor.finding import Finding

_HEADER = ("what", "state", "found", "to do")


def doctor(config: Config = None, lake: LakeRoot = None) -> None:
    """Look over installation, settings, landing zone, lake and deliveries, and say what to do.

    Disk, clock, the last run, blocked partitions, telemetry's age and warnings too. Changes nothing. Exit code 1
    where something is BROKEN: numbers are missing, late or wrong until it is mended.

    Example: goodput doctor
    """
    from goodput.doctor.finding import State  # noqa: PLC0415  (help must not wait for what it looks with)

    with until_reader_leaves():
        findings = list(_findings(config, lake))
        out = console()
        rows = [(one.subject, one.state.value, plain(one.found), plain(one.to_do)) for one in findings]
        out.print(table(_HEADER, rows, out.width))
    if any(one.state is State.broken for one in findings):
        raise typer.Exit(1)


def _findings(config: Config, lake_root: LakeRoot) -> "Iterator[Finding]":
    from goodput.doctor import lake, machine  # noqa: PLC0415
    from goodput.doctor.finding import attention, broken, ok  # noqa: PLC0415

    now = datetime.now(UTC)
    yield from machine.installation()
    file = config or DEFAULT_FILE
    try:
        settings = load_settings(config, lake=lake_root)
    except SettingsError as error:
        yield broken("settings", str(error), f"correct {file}")
        return
    if file.exists():
        yield ok("settings", str(file))
    else:
        yield attention("settings", f"there is no {file}: all is at its default", "goodput init")
    landed = yield from machine.landing(settings, now)
    yield from machine.disk(settings.lake_path)
    yield from lake.lake(settings, landed, now)
