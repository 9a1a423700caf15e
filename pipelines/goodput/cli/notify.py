"""`goodput notify`: deliver alarms to the channels of the settings, and report how that goes."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goodput.ask.cells import iso, plain
from goodput.cli.options import Config, LakeRoot
from goodput.cli.render import console, table, until_reader_leaves
from goodput.errors import GoodputError, UnknownChannel, UsageError
from goodput.plumbing.lake import Lake
from goodput.plumbing.telemetry import INTERVAL_S, Telemetry, WorkSpan
from goodput.plumbing.workspace import Workspace, lake_of
from goodput.settings.load import load_settings
from goodput.settings.model import Settings

if TYPE_CHECKING:
    from goodput.notify.deliver import Delivered

_PAUSE_S = 5.0  # between two rounds of --watch
_BUDGET_S = 600.0  # of one round; what is left is due in the next
_SHOWN = 20  # undelivered messages
_HEALTH = ("channel", "leads to", "delivered", "pending", "dead", "suppressed", "last delivered")


def notify(  # noqa: PLR0913, PLR0917  (the command's options)
    config: Config = None,
    lake: LakeRoot = None,
    once: Annotated[bool, typer.Option("--once", help="Deliver what is due and end: what happens without it.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Deliver until interrupted.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be sent where; send nothing.")] = False,
    status: Annotated[
        bool, typer.Option("--status", help="What is undelivered, why, and what to do; 1 where that is a fault.")
    ] = False,
    test: Annotated[str | None, typer.Option(metavar="CHANNEL", help="Send a test alarm over a channel.")] = None,
    requeue: Annotated[str | None, typer.Option(metavar="CHANNEL", help="Try a channel's dead letters again.")] = None,
) -> None:
    """Deliver alarms to the channels of the settings. Safe to run at any time, beside runs and itself.

    Example:
      goodput notify
      goodput notify --status
      goodput notify --test ops
    """
    chosen = [once, watch, dry_run, status, test is not None, requeue is not None]
    if sum(chosen) > 1:
        raise UsageError("--once, --watch, --dry-run, --status, --test and --requeue exclude each other: give one.")
    settings = load_settings(config, lake=lake)
    at = lake_of(settings)
    if test is None:  # a test message needs no lake
        at.require()
    with until_reader_leaves():
        if status:
            _status(at, settings)
        elif dry_run:
            _dry_run(at, settings)
        elif test is not None:
            _test(test, settings)
        elif requeue is not None:
            _requeue(requeue, at, settings)
        elif watch:
            _watch(at, settings)
        else:
            _once(Workspace(config, lake_path=lake))


def _once(workspace: Workspace) -> None:
    from goodput.notify.deliver import deliver  # noqa: PLC0415  (help must not wait for it)
    from goodput.telemetry import facts  # noqa: PLC0415
    from goodput.telemetry.traced import traced  # noqa: PLC0415

    if not workspace.settings.channels:
        typer.echo("The settings name no channel; see [channels.NAME] in what `goodput init` writes.", err=True)
        return
    with traced(workspace, "goodput notify") as span:
        done = deliver(workspace.lake, workspace.settings, _BUDGET_S)
        facts.of_deliveries(workspace.telemetry, span, done)
    _print_done(done)


def _print_done(done: "Delivered") -> None:
    left = ": goodput notify --status shows why" if done.pending + done.dead else ""
    typer.echo(
        f"{done.enqueued} new, {done.drained.delivered} delivered, {done.drained.failed} failed; "
        f"{done.pending} pending, {done.dead} dead{left}",
        err=True,
    )
    if done.undrawn:
        typer.echo(f"plots are missing: {done.undrawn}", err=True)


def _watch(lake: Lake, settings: Settings) -> None:
    """Deliver for ever, printing only when something happened; what fails now may work in the next round."""
    from goodput.telemetry.traced import tracing  # noqa: PLC0415

    last_error = ""
    while True:
        with tracing(settings, "goodput notify") as (telemetry, span):
            last_error = _watch_a_while(lake, settings, telemetry, span, last_error)


def _watch_a_while(lake: Lake, settings: Settings, telemetry: Telemetry, span: WorkSpan, last_error: str) -> str:
    """Rounds that are one trace; why the last one failed, empty where it did not."""
    from goodput.notify.deliver import deliver  # noqa: PLC0415
    from goodput.notify.drain import Drained  # noqa: PLC0415
    from goodput.telemetry import facts  # noqa: PLC0415

    until, all_done = time.monotonic() + INTERVAL_S, None
    while time.monotonic() < until:
        try:
            done = deliver(lake, settings, _BUDGET_S)
            all_done = done if all_done is None else all_done.then(done)
            facts.of_deliveries(telemetry, span, all_done)
            if done.enqueued or done.drained != Drained():
                _print_done(done)
            last_error = ""
        except GoodputError as error:
            span.fail(type(error).__name__)
            if str(error) != last_error:
                last_error = str(error)
                facts.of_failed_deliveries(telemetry, error)
                typer.echo(last_error, err=True)
        time.sleep(_PAUSE_S)
    return last_error


def _status(lake: Lake, settings: Settings) -> None:
    from goodput.notify.health import channel_health, undelivered  # noqa: PLC0415
    from goodput.notify.outbox import Outbox, outbox_file  # noqa: PLC0415
    from goodput.notify.senders import Sender  # noqa: PLC0415

    out = console()
    with Outbox(_readable(outbox_file(lake))) as outbox:
        leads = {name: Sender(channel, settings.base).shown_target() for name, channel in settings.channels.items()}
        health = channel_health(outbox, list(leads))
        waiting = list(undelivered(outbox))
    if not health:
        out.print("The settings name no channel, and nothing was ever sent.")
        return
    lines = [
        (
            h.channel,
            leads.get(h.channel, "not in the settings"),
            h.delivered,
            h.pending,
            h.dead,
            h.suppressed,
            h.last_delivered_at,
        )
        for h in health
    ]
    out.print(table(_HEALTH, lines, out.width))
    for one in waiting[:_SHOWN]:
        out.print()
        out.print(plain(f"{one.channel}: {one.state} {one.severity}, {one.status}: {one.summary}"))
        due = f"; next {iso(one.next_attempt_at)}" if one.next_attempt_at else ""
        out.print(f"  since {iso(one.since)}, {one.attempts} attempt(s){due}")
        out.print(plain(f"  why: {one.error}"))
        out.print(f"  to do: {one.to_do}")
    if len(waiting) > _SHOWN:
        out.print(
            f"and {len(waiting) - _SHOWN} more: goodput query \"from deliveries where state in ('pending', 'dead')\""
        )
    if any(one.is_fault for one in waiting):
        raise typer.Exit(1)
    if not waiting:
        out.print("Nothing is undelivered.")


def _dry_run(lake: Lake, settings: Settings) -> None:
    from goodput.notify.enqueue import due, scene_of  # noqa: PLC0415
    from goodput.notify.outbox import Outbox, outbox_file  # noqa: PLC0415
    from goodput.notify.senders import Sender  # noqa: PLC0415

    out = console()
    with Outbox(_readable(outbox_file(lake))) as outbox:
        scene = scene_of(lake, settings, outbox.now_ns())
        waiting = outbox.rows("SELECT * FROM deliveries WHERE state = 'pending' ORDER BY sequence")
        new = [draft for draft in due(scene, settings.channels, outbox).drafts if draft.state == "pending"]
    messages = [(row["channel"], row["severity"], row["status"], row["summary"], row["body"]) for row in waiting]
    messages += [(draft.channel, draft.severity, draft.status, draft.summary, draft.body) for draft in new]
    for channel, severity, status, summary, body in messages:
        known = settings.channels.get(channel)
        leads = Sender(known, settings.base).shown_target() if known else "nowhere: not in the settings"
        out.print(plain(f"{channel} -> {leads}: {severity}, {status}: {summary}"))
        out.print(plain(f"  {body.decode().rstrip()}"))
    out.print(f"{len(messages)} message(s) would be sent.")


def _test(name: str, settings: Settings) -> None:
    from goodput.notify.decide import Scene  # noqa: PLC0415
    from goodput.notify.senders import Sender  # noqa: PLC0415
    from goodput.notify.try_out import send_test  # noqa: PLC0415

    if name not in settings.channels:
        raise UnknownChannel(name, sorted(settings.channels))
    sender = Sender(settings.channels[name], settings.base)
    leads = sender.shown_target()
    for sent in send_test(name, sender, Scene({}, settings.notify, time.time_ns())):
        if not sent.delivered:
            typer.echo(plain(f"{name} -> {leads}: not delivered: {sent.error}"), err=True)
            raise typer.Exit(1)
        typer.echo(
            f"{name} -> {leads}: delivered{f', answered {sent.http_status}' if sent.http_status else ''}", err=True
        )


def _requeue(name: str, lake: Lake, settings: Settings) -> None:
    from goodput.notify.outbox import Outbox, outbox_file  # noqa: PLC0415

    if name not in settings.channels:
        raise UnknownChannel(name, sorted(settings.channels))
    with Outbox(_readable(outbox_file(lake))) as outbox:
        count = outbox.requeue(name)
    typer.echo(f"{count} dead letter(s) of {name} are due again: goodput notify sends them", err=True)


def _readable(file: Path) -> Path:
    """The file where it is there; a question must not make one."""
    return file if file.exists() else Path(":memory:")
