"""The one family of errors: each takes data and writes its own message: what is wrong, where, what to do.

GoodputError                exit code 1: a run or a check failed
├── UsageError              exit code 2: bad usage or settings
│   ├── SettingsError       every mistake of a settings file at once
│   ├── LandingMissing      a landing path that is not there
│   ├── NotPublished        asked before anything was published
│   ├── PublishedByOlder    a database without a relation that a question needs
│   ├── NothingToReport     nothing is published in the period that is asked for
│   ├── SliceNotPublished   no published slice is cut by what was named
│   ├── NothingToRebuild    no lake is there to be made anew
│   ├── IdentityInSettings  an identity that is to be erased, by which the settings select a workload
│   ├── NothingRetained     settings that keep everything, so that nothing can be pruned
│   ├── NotPrunable         days for tables of which all is needed
│   ├── UnknownRelation     no such table or view is published
│   ├── UnknownAlarm        a key that names no alarm, or several
│   ├── SeveralRequests     a key that names more than one request
│   ├── FileExists          a file that is not to be overwritten
│   ├── AddressUnusable     an address that cannot be listened at
│   ├── OpenToAnyone        listening beyond this machine without a token
│   ├── CertificateUnusable a certificate that a server cannot show
│   ├── TokenUnusable       a file that holds no token
│   ├── SecretUnusable      a secret that is not there or not one
│   ├── TraceUnreadable     a trace of prompts that cannot be replayed
│   ├── GrafanaMissing      dashboards are asked for, and Grafana's SDK is not installed
│   ├── TargetRefused       an address that no alarm is sent to
│   ├── ExtraMissing        a command of which the packages are not installed
│   ├── ClusterUnreachable  no Ray cluster answers at the address
│   ├── UnknownChannel      no such channel in the settings
│   ├── CacheOfAnotherLake  a folder for a lake in an object store that has another lake in it
│   ├── NotInObjectStore    a command that does not work on a lake in an object store
│   ├── FederationUnlike    lakes whose workloads of one name have other gates, so that nothing adds up
│   ├── FederationApart     lakes that compute no windows of one length
│   ├── FederatedIntoLake   a database of several lakes would take the place of a lake's own
│   ├── FederatedIntoStore  a database of several lakes was to be written to an address
│   ├── SeveralLakes        what works on one lake was to work on a database of several
│   ├── LakesUnnamed        lakes without a name of their own
│   └── TargetUnreadable    what `goodput connect` was asked to look at is not there
├── ErasedFilesLie          landing files hold identities that were erased from the lake
├── SourceRefused           one source file cannot be used; the run goes on
├── LakeTooNew              the lake was written by a newer version
├── LakeTooOld              the lake was written by an older version and has to be rebuilt
├── LakeUnreadable          a file that the lake cannot do without is damaged
├── FederatedLakeUnreadable what one of several lakes has published cannot be read
├── HeadMissing             a lake in an object store whose head is gone
├── LakeBusy                another run holds the lake
├── LeaseLost               another machine has taken over a lake in an object store
├── StoreFailed             an object store that cannot be reached, or refuses what was asked
├── StoreRefused            an object store that writes over what must not be written over
├── NotUpToDate             hours that are to be closed have something to compute
├── WorkersUnusable         processes that were to compute partitions cannot
├── RunCrashed              an error that nobody foresaw ended a run
├── LakeUnwritable          no room, no permission, or a disk that fails, to write
├── OutboxUnusable          the outbox of alarms cannot be read or written
├── LandingUnwritable       received telemetry cannot be written
├── ReceiverBusy            another process receives into the folder
├── ExportFailed            windows that could not be sent to a receiver of metrics
├── OutputUnwritable        the file that an answer was to go to cannot be written
├── PartitionsBlocked       partitions that could not be computed, or that break their contract, are not published
├── SourcesFailed           files that were refused, not read to their end, or have too many rows in quarantine
├── NothingReadable         `goodput connect` found nothing that could be read
├── QueryFailed             the database refused the SQL
├── TookTooLong             a question that was not answered in its time
├── RuleTestsFailed         alarms are not in the states that a user's tests expect
├── SqlRefused              SQL that a model wrote and that cannot be answered, with what it could say instead
├── AnswerTooLong           an answer that is longer than it may be even without its lists
├── SqlMissing              no file of that name below sql/
├── SqlNotUnique            two files of one name below sql/
├── SqlUnreadable           a file below sql/ that cannot be parsed
├── RelationCycle           relations that are computed from each other
├── NothingCalled           a node whose inputs call for none of its partitions
└── UnknownRequest          no such request was published
"""

import errno
import math
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


class GoodputError(Exception):
    """A run or a check failed; the command ends with `exit_code`."""

    exit_code = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process gets of it: its message and what it was made of."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[GoodputError], args: tuple[Any, ...], known: dict[str, Any]) -> GoodputError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(known)
    return error


class UsageError(GoodputError):
    """What was asked cannot be done as asked: bad usage or settings."""

    exit_code = 2


@dataclass(frozen=True)
class Mistake:
    """One mistake in a settings file: the key where it stands, what is wrong and what would be right."""

    key: str
    wrong: str
    right: str


class SettingsError(UsageError):
    """Every mistake of a settings file at once, from top to end; `lines`: where keys stand, as far as that is known."""

    def __init__(self, path: Path, mistakes: Sequence[Mistake], lines: Mapping[str, int] | None = None) -> None:
        self.path = path
        self.mistakes = tuple(mistakes)
        placed = sorted(((_line(m.key, lines or {}), m) for m in mistakes), key=lambda one: one[0] or math.inf)
        told = [_told(m, f"line {line}, " if line else "") for line, m in placed]
        count = f"{len(mistakes)} mistake{'s' if len(mistakes) != 1 else ''}"
        super().__init__("\n".join([f"{path}: {count}", *told]))


def _told(mistake: Mistake, place: str) -> str:
    return f"  {place}{mistake.key}: {mistake.wrong}\n      right would be: {mistake.right}"


def _line(key: str, lines: Mapping[str, int]) -> int | None:
    """The line of a key, or of the nearest one around it that has a line."""
    while key not in lines:
        key, dot, _ = key.rpartition(".")
        if not dot:
            return None
    return lines[key]


class LandingMissing(UsageError):
    """A landing path that is not there."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        named = "\n".join(f"  {path}" for path in paths)
        super().__init__(
            f"landing path not found:\n{named}\n"
            "Create it, or name the right one under `landing` in goodput.toml or with --landing."
        )


class NotPublished(UsageError):
    """Asked before anything was published."""

    def __init__(self, database: Path | str) -> None:
        self.database = database
        super().__init__(f"nothing is published yet: {database} does not exist.\nRun `goodput run` first.")


class FederationUnlike(UsageError):
    """Lakes whose workloads of one name have other gates: what they accepted does not add up."""

    def __init__(self, unlike: Sequence[tuple[str, str, str]]) -> None:
        lines = [f"  {workload}: {term} is {values}" for workload, term, values in unlike]
        super().__init__(
            "\n".join(["The lakes accept by different gates:", *lines])
            + "\nGive workloads of one name the same gates, or others another name, run, and federate again."
        )


class FederationApart(UsageError):
    """Lakes that compute no windows of one length, so that none add up; `windows` of each by name."""

    def __init__(self, windows: Sequence[tuple[str, str]]) -> None:
        lines = [f"  {lake}: {lengths} s" for lake, lengths in windows]
        super().__init__(
            "\n".join(["The lakes have no length of windows in common:", *lines])
            + "\nGive all of them the same windows_s, run, and federate again."
        )


class FederatedLakeUnreadable(GoodputError):
    """What one of several lakes has published cannot be read."""

    def __init__(self, name: str, lake: str, reason: str) -> None:
        super().__init__(
            f"{name} ({lake}): its goodput.duckdb cannot be read: {' '.join(reason.split())[:500]}\n"
            "`goodput run` on that lake publishes it anew, from its parts, where the file is deleted first; "
            "`goodput verify` says whether these are damaged too."
        )


class FederatedIntoLake(UsageError):
    """A database of several lakes would take the place of what one of them has published."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} is a lake, whose own database lies there.\nName another folder with --into.")


class FederatedIntoStore(UsageError):
    """A database of several lakes was to be written to an address."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"{address} is an address of an object store, and a database of several lakes is written to a folder.\n"
            "Name a folder with --into, and copy its goodput.duckdb from there."
        )


class SeveralLakes(UsageError):
    """What works on one lake was to work on a database of several."""

    def __init__(self, folder: Path, lakes: Sequence[str]) -> None:
        super().__init__(
            f"{folder} is no lake: its database is of several, made by `goodput federate`, and only `goodput query` "
            "and `goodput tables` ask it.\n"
            f"Name a lake that it was made from instead ({_listed(lakes)}), where that is kept."
        )


class LakesUnnamed(UsageError):
    """Lakes that would have the same name, or none that fits a row."""

    def __init__(self, lakes: Sequence[str], most: int) -> None:
        super().__init__(
            f"no name of its own: {', '.join(lakes)}.\n"
            f"Give each lake one of up to {most} characters: goodput federate eu=/srv/eu/lake us=/srv/us/lake"
        )


class PublishedByOlder(UsageError):
    """A question needs a relation that the version of Goodput which published the database did not have."""

    def __init__(self) -> None:
        super().__init__("This database was published by an older version of Goodput: `goodput run` publishes it anew.")


class ExtraMissing(UsageError):
    """A command of which the packages are not installed."""

    def __init__(self, command: str, extra: str) -> None:
        super().__init__(
            f"{command} needs packages that are not installed.\nInstall them beside it: pip install 'goodput[{extra}]'"
        )


class ClusterUnreachable(UsageError):
    """No Ray cluster answers at the address that the settings name."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"No Ray cluster answers at {address!r}, which cluster.ray names: {' '.join(reason.split())[:300]}\n"
            "Start one (`ray start --head`), name its address, or compute on this machine with --workers."
        )


class WorkersUnusable(GoodputError):
    """Processes that were to compute partitions cannot."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"Workers cannot compute partitions: {' '.join(reason.split())[:500]}\n"
            "Each needs the same Goodput in the same environment as this command; --workers 1 does without them."
        )


class NothingToReport(UsageError):
    """Nothing is published in the period that is asked for."""

    def __init__(self, since: datetime | None, until: datetime | None, kept_from: datetime | None = None) -> None:
        pruned = f"Windows before {kept_from:%Y-%m-%dT%H:%M}Z were pruned.\n" if kept_from is not None else ""
        ends = [f"{word} {at:%Y-%m-%dT%H:%M}Z" for word, at in (("from", since), ("to", until)) if at is not None]
        where = f" {' '.join(ends)}" if ends else ""
        super().__init__(
            f'no window is published{where}.\n{pruned}`goodput query "from watermark"` says how far telemetry reaches.'
        )


_NAMED = 8  # of what is known, in a message


class SliceNotPublished(UsageError):
    """No published slice is cut by exactly the dimensions that were named, with these values."""

    def __init__(self, asked: Mapping[str, str], known: Mapping[str, Sequence[str]]) -> None:
        named = ", ".join(f"{name} {value!r}" for name, value in asked.items()) or "all requests"
        there = "".join(f"{name.capitalize()}s: {_listed(known[name])}.\n" for name in asked if known.get(name))
        super().__init__(
            f"no slice is published of {named}.\n{there}"
            "Published are all requests, each model, pool and workload, and of a workload each model, pool and route; "
            "`slices.by` in the settings adds tenants and attributes, of all requests and within workloads."
        )


def _listed(values: Sequence[str]) -> str:
    more = f" and {len(values) - _NAMED} more" if len(values) > _NAMED else ""
    return ", ".join(map(repr, values[:_NAMED])) + more


class UnknownRelation(UsageError):
    """No such table or view is published."""

    def __init__(self, name: str, near: Sequence[str]) -> None:
        meant = f"\nDid you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"no table or view is called {name!r}.{meant}\n`goodput tables` lists them all.")


class SeveralRequests(UsageError):
    """A key that names more than one request; `found` holds (request_key, arrival, verdict) of each."""

    SHOWN = 20

    def __init__(self, key: str, found: Sequence[tuple[str, str, str]]) -> None:
        self.found = tuple(found)
        lines = [f"  {name}  {arrived_at}  {verdict}" for name, arrived_at, verdict in found[: self.SHOWN]]
        more = [f"  and {len(found) - self.SHOWN} more"] if len(found) > self.SHOWN else []
        asked = "Choose one of them: goodput explain REQUEST_KEY"
        super().__init__("\n".join([f"{key!r} names {len(found)} requests:", *lines, *more, asked]))


class UnknownAlarm(UsageError):
    """A key that names no alarm, or several; `found` holds those that it names."""

    SHOWN = 20

    def __init__(self, key: str, found: Sequence[str]) -> None:
        self.found = tuple(found)
        lines = [f"  {name}" for name in found[: self.SHOWN]]
        first_line = f"{key!r} names {len(found)} alarms:" if found else f"no alarm is called {key!r}."
        super().__init__("\n".join([first_line, *lines, "`goodput alarms list --all` shows them all."]))


class FileExists(UsageError):
    """A file that is not to be overwritten."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"{path} exists already.\nName another file, or overwrite it with --force.")


class AddressUnusable(UsageError):
    """An address that cannot be listened at."""

    def __init__(self, host: str, port: int, cause: OSError) -> None:
        super().__init__(
            f"cannot listen at {host} port {port}: {cause.strerror or cause}.\n"
            "Name another with --host and --port; --port 0 takes any that is free."
        )


class OpenToAnyone(UsageError):
    """Listening beyond this machine without a token; `could` is what everyone could do there."""

    def __init__(self, host: str, could: str, variable: str) -> None:
        super().__init__(
            f"at {host} whoever reaches this machine could {could}.\n"
            f"Ask for a token with --token-file or {variable}; "
            "where the network itself is trusted, say so with --insecure."
        )


class CertificateUnusable(UsageError):
    """A certificate that a server cannot show; `section` of the settings names it."""

    def __init__(self, section: str, certificate: Path, key: Path, reason: str) -> None:
        super().__init__(
            f"{section}.tls_certificate {certificate} with {section}.tls_key {key} cannot be used: {reason}.\n"
            "Name a certificate in PEM with its chain, and its key without a passphrase."
        )


class TokenUnusable(UsageError):
    """A file, or a variable, that holds no token."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}.\nPut a token there, such as `openssl rand -hex 32` prints.")


class SourceRefused(GoodputError):
    """One source file cannot be used as a whole; the ledger says why and the run goes on."""

    def __init__(self, path: object, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: refused: {reason}")


class LakeTooNew(GoodputError):
    """The lake was written by a newer version of Goodput."""

    def __init__(self, root: Path | str, has: str) -> None:
        super().__init__(
            f"{root}: this lake has {has}.\n"
            "Upgrade Goodput, or name another lake with `lake` in goodput.toml or --lake."
        )


class LakeTooOld(GoodputError):
    """The lake was written by an older version of Goodput, in a format that this one does not read."""

    def __init__(self, root: Path, found: int, known: int) -> None:
        super().__init__(
            f"{root}: this lake has format {found}; this version of Goodput writes format {known}.\n"
            "`goodput rebuild` makes it anew from the landing files, alarms and deliveries kept; the old one is kept "
            "beside it until the new one is complete."
        )


class NothingToRebuild(UsageError):
    """No lake is there to be made anew."""

    def __init__(self, root: Path) -> None:
        super().__init__(f"{root}: no lake is here.\nUse `goodput run`.")


class LakeUnreadable(GoodputError):
    """A file that the lake cannot do without is damaged."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: cannot be read: {' '.join(reason.split())}.\n"
            "Restore the file from a backup, or have `goodput rebuild` make the lake anew from the landing files, "
            "alarms and deliveries kept; the old one is kept beside it. In a store, name another prefix and run."
        )


class HeadMissing(GoodputError):
    """A lake in an object store whose tables are there and whose head is not."""

    def __init__(self, url: str, root: Path) -> None:
        super().__init__(
            f"{url}: head.json is missing, without which nothing says what is in the lake. Nothing was changed.\n"
            "Restore that object from an older version of it, or name another prefix as `lake` and run: all is made "
            f"anew from the landing files. If you emptied the prefix on purpose, delete {root} too."
        )


class LakeDamaged(GoodputError):
    """Parts of the lake are not what was written."""

    def __init__(self, *, due: int, lost: int, is_repaired: bool) -> None:
        mender = "the next run" if is_repaired else "`goodput verify --repair && goodput run`"
        remedies = [f"{mender} makes {due} again"] if due else []
        remedies += [f"{lost} cannot be made again"] if lost else []
        super().__init__(f"{due + lost} part(s) of the lake are damaged: {', '.join(remedies)}.")


class ContractsBroken(GoodputError):
    """Rows of the lake break the contract of their table."""

    def __init__(self, checks: Mapping[str, Sequence[str]], page: Path) -> None:
        lines = [f"  {table}: {', '.join(broken)}" for table, broken in sorted(checks.items())]
        head = f"{len(lines)} table(s) hold rows that break their contract; {page} has the rows:"
        remedy = "`goodput run --since TIME --until TIME` computes their hours again."
        super().__init__("\n".join([head, *lines, remedy]))


class NotDataDocs(UsageError):
    """A folder that pages are to be written to holds something else, which they would replace."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} holds other files than earlier Data Docs: name an empty or a new folder.")


class PagesUnwritable(GoodputError):
    """Pages cannot be written."""

    def __init__(self, folder: Path, cause: OSError) -> None:
        super().__init__(
            f"{folder}: cannot write pages: {cause.strerror or cause}. Name another folder, or free some space."
        )


class SourceLies(UsageError):
    """A file that is to be forgotten still lies in the landing zone, where the next run would read it again."""

    def __init__(self, paths: Sequence[str]) -> None:
        lines = [f"  {path}" for path in paths]
        super().__init__("\n".join(["These files still lie in the landing zone; move them away first:", *lines]))


class IdentityInSettings(UsageError):
    """A workload is selected by an identity that is to be erased: hours that are computed again would lose it."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__(
            f"the settings select a workload by it: {', '.join(keys)}.\n"
            "Take it out there and `goodput run` first; else what is computed again later would not be what was."
        )


class ErasedFilesLie(GoodputError):
    """Identities are erased from the lake, and landing files or objects hold them still."""

    def __init__(self, files: Sequence[Path | str]) -> None:
        lines = [f"  {file}" for file in files]
        super().__init__(
            "\n".join(["The lake has forgotten them; these landing files have not, clean them too:", *lines])
        )


class SourceUnknown(UsageError):
    """No source file is called so."""

    def __init__(self, names: Sequence[str], near: Sequence[str]) -> None:
        nearest = f"; the nearest are {', '.join(near)}" if near else ""
        super().__init__(f"no source file is called {', '.join(names)}{nearest}. `goodput sources` lists them.")


class NothingRetained(UsageError):
    """The settings keep everything."""

    def __init__(self) -> None:
        super().__init__("the settings keep everything: give days in [retention], such as records_days = 90.")


class NotPrunable(UsageError):
    """Tables that the settings give days, and of which all is needed."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        self.reasons = dict(reasons)
        lines = [f"  retention.tables.{table}: {reason}" for table, reason in sorted(reasons.items())]
        super().__init__("\n".join(["nothing is pruned: all rows of these tables are needed; take them out.", *lines]))


class NotUpToDate(GoodputError):
    """Hours that are to be closed are not computed from what is there; closed, they never would be."""

    def __init__(self, waiting: Sequence[str]) -> None:
        first = f", {waiting[0]} for one" if waiting else ""
        super().__init__(
            f"nothing is pruned: hours that would be closed have something to compute{first}. `goodput run` first."
        )


class LakeBusy(GoodputError):
    """Another run holds the lake."""

    def __init__(self, root: Path | str, writer: str = "") -> None:
        by = f" ({writer})" if writer else ""
        super().__init__(f"{root}: another run{by} is writing to this lake.\nWait for it to end, then run again.")


class LeaseLost(GoodputError):
    """Another machine has taken over a lake in an object store; what this run has not committed counts nowhere."""

    def __init__(self, url: str) -> None:
        super().__init__(
            f"{url}: another machine has taken over this lake, as this run did not renew its lease in time.\n"
            "Run again: what was finished is kept, and what was not is done then."
        )


class StoreFailed(GoodputError):
    """An object store that cannot be reached, or refuses what was asked."""

    def __init__(self, url: str, reason: str) -> None:
        first = next(iter(reason.splitlines()), "")[:300]
        super().__init__(
            f"{url}: the object store failed: {first}.\n"
            "Look at the address, the network and the credentials (AWS_ACCESS_KEY_ID and the like), then run again: "
            "what was finished is kept."
        )


class StoreRefused(GoodputError):
    """An object store that does not refuse a write under a condition that is not met; `header` names the condition."""

    def __init__(self, url: str, header: str, found: str) -> None:
        super().__init__(
            f"{url}: this store ignores {header}: {found}.\n"
            "Two runs at once would destroy the lake. Use a store with conditional writes: Amazon S3, Google Cloud "
            "Storage, Azure Blob Storage, or a server that has them, such as SeaweedFS, MinIO or Ceph."
        )


class CacheOfAnotherLake(UsageError):
    """A folder for a lake in an object store that has another lake in it."""

    def __init__(self, folder: Path, there: str, wanted: str) -> None:
        super().__init__(
            f"{folder}: this folder belongs to {there}, and cannot be that of {wanted}.\n"
            "Name another folder as `folder` under [lake_cache] in goodput.toml."
        )


class NotInObjectStore(UsageError):
    """A command that does not work on a lake in an object store, with what to do instead."""

    def __init__(self, command: str, url: str, to_do: str) -> None:
        super().__init__(f"{command} does not work on a lake in an object store ({url}).\n{to_do}")


class RunCrashed(GoodputError):
    """An error that nobody foresaw ended a run; `traceback` ends its message: where it is kept, or the traceback."""

    SHOWN = 300  # characters of an error that may bring a stack trace of its own

    def __init__(self, step: str, error: BaseException, traceback: str) -> None:
        first_line = next(iter(str(error).splitlines()), "")[: self.SHOWN]
        super().__init__(
            f"the run stopped in {step} at an error that it did not expect: {type(error).__name__}: {first_line}\n"
            "What was published before is untouched and what was finished is kept: another run goes on from there.\n"
            f"Should it stop there again, report it with the traceback{traceback}"
        )


_FILE_FOR_FOLDER = "A file lies where a folder is to be: move it away, or name another folder"
_TO_WRITE = {
    errno.EEXIST: _FILE_FOR_FOLDER,
    errno.ENOTDIR: _FILE_FOR_FOLDER,
    errno.ENOSPC: "Free some space",
    errno.EDQUOT: "Free some space, or have the quota raised",
    errno.EACCES: "Let the user that runs goodput write there",
    errno.EPERM: "Let the user that runs goodput write there",
    errno.EROFS: "Mount the file system to be written to, or name a folder elsewhere",
}


class LakeUnwritable(GoodputError):
    """No room, no permission, or a disk that fails, to write to the lake; nothing half-written is left in view."""

    def __init__(self, path: Path, cause: OSError) -> None:
        reason = " ".join((cause.strerror or str(cause)).split())  # libraries write theirs in several lines
        remedy = _TO_WRITE.get(cause.errno or 0, "Free some space, fix the permissions or mend the disk")
        super().__init__(f"{path}: cannot write: {reason}.\n{remedy}, then run again: what was finished is kept.")


class LandingUnwritable(GoodputError):
    """Received telemetry cannot be written, so none is taken."""

    def __init__(self, path: Path, cause: OSError) -> None:
        super().__init__(
            f"{path}: cannot write: {cause.strerror or cause}.\n"
            "Fix the permissions, or name another folder under `landing` in goodput.toml or with --landing."
        )


class ReceiverBusy(GoodputError):
    """Another process receives into the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder}: another `goodput receive` is writing to this folder.\n"
            "Stop it first, or give this one a folder of its own with --landing."
        )


class OutboxUnusable(GoodputError):
    """The outbox of alarms cannot be read or written; what it holds is left as it is."""

    def __init__(self, path: Path, cause: object) -> None:
        super().__init__(
            f"{path}: cannot use the outbox: {cause}.\n"
            "Free space or fix permissions. A damaged outbox may be moved away: alarms that still fire are sent again."
        )


class SecretUnusable(UsageError):
    """A secret that is not there, or not one; its message never holds the secret."""

    def __init__(self, key: str, wrong: str) -> None:
        super().__init__(f"{key}: {wrong}.\nMend the environment variable or file that the settings name.")


class TraceUnreadable(UsageError):
    """A trace of prompts that cannot be replayed: its file, and the line that is wrong if one is."""

    def __init__(self, path: Path, line: int | None, problem: str) -> None:
        self.line = line
        where = path if line is None else f"{path}, line {line}"
        super().__init__(
            f"cannot replay {where}: {problem}.\n"
            "A line is a JSON object: timestamp (ms), input_length and output_length (tokens), and hash_ids, one for "
            "each 512 tokens of the input."
        )


class TargetRefused(UsageError):
    """An address that no alarm is sent to."""

    def __init__(self, wrong: str, right: str) -> None:
        super().__init__(f"refused to connect: {wrong}; right would be {right}.")


class UnknownChannel(UsageError):
    """No such channel in the settings."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        there = f"The settings have: {', '.join(known)}." if known else "The settings have none; see [channels.NAME]."
        super().__init__(f"no channel is called {name!r}.\n{there}")


class TargetUnreadable(UsageError):
    """What `goodput connect` was asked to look at is not there, or does not answer."""

    def __init__(self, target: str, problem: str) -> None:
        super().__init__(
            f"{target}: {problem}.\nName a file, a folder, or an http(s) address of a file or of a /metrics endpoint."
        )


class NothingReadable(GoodputError):
    """No row of what `goodput connect` looked at can be read."""

    def __init__(self, target: str, *, is_empty: bool) -> None:
        super().__init__(
            f"{target}: there is no file in it yet.\nHave telemetry written there first; hidden files are left alone."
            if is_empty
            else f"{target}: nothing in it can be read.\n"
            "A vocabulary of your own is declared under [dialects] or [sources]; `goodput init` shows both."
        )


class GrafanaMissing(UsageError):
    """Dashboards are asked for, and Grafana's SDK, which builds them, is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "dashboards are built by Grafana's SDK, which is not installed.\nInstall it: pip install 'goodput[grafana]'"
        )


class ExportFailed(GoodputError):
    """Windows that could not be sent to a receiver of metrics."""

    def __init__(self, problem: str, sent: int, left: int) -> None:
        super().__init__(
            f"metrics were not sent: {problem}.\n"
            f"{sent} window(s) arrived; the same command sends the {left} that are left once the receiver takes them."
        )


class OutputUnwritable(GoodputError):
    """The file that an answer was to go to cannot be written; nothing half-written is left."""

    def __init__(self, path: Path, cause: OSError) -> None:
        super().__init__(
            f"{path}: cannot write: {cause.strerror or cause}.\nName a file in a folder that exists and has room."
        )


@dataclass(frozen=True)
class BlockedPartition:
    """One partition of a table that cannot be published, and why; `blocked_by` is what it waits for, if it does.

    `inputs` is what it was made from where its contract is broken, empty where another try may succeed.
    """

    table: str
    partition: str
    reason: str
    blocked_by: str | None = None
    inputs: str = ""

    @property
    def may_succeed(self) -> bool:
        """Whether its computation broke, so that another try may succeed: it neither waits nor stands by an audit."""
        return self.blocked_by is None and not self.inputs

    @property
    def kind(self) -> str:
        """Which check or error it was, without what the reason may quote of rows."""
        return "waits" if self.blocked_by else self.reason.partition(":")[0]


class SourcesFailed(GoodputError):
    """Files were refused, not read to their end, or have too many rows in quarantine; everything else is published.

    `failed` has the path of each with what is wrong; `blocked` counts partitions that are not published beside.
    """

    SHOWN = 20

    def __init__(self, failed: Sequence[tuple[str, str]], blocked: int = 0) -> None:
        self.failed = tuple(failed)
        super().__init__("\n".join([*(self._of_files() if failed else ()), *(_of_blocked(blocked) if blocked else ())]))

    def _of_files(self) -> list[str]:
        lines = [f"  {path}: {wrong}" for path, wrong in self.failed[: self.SHOWN]]
        more = [f"  and {len(self.failed) - self.SHOWN} more"] if len(self.failed) > self.SHOWN else []
        return [
            f"{len(self.failed)} file(s) refused, not read to the end or with too many rows in quarantine, all others "
            "are published:",
            *lines,
            *more,
            "Fix or remove them, or the settings that read them, then run again; `goodput sources --problems` "
            "shows their rows.",
        ]


def _of_blocked(count: int) -> list[str]:
    return [
        f'{count} partition(s) blocked: `goodput query "from blocked_partitions"` lists them all with their reasons; '
        "what they point to (a file, the settings, a part of the lake: see `goodput verify`) is to be fixed."
    ]


_MORE_MEMORY = (
    "What is killed (SIGKILL) mostly ran out of memory: give it more, or compute with fewer workers or a smaller "
    "cluster.shard_records (docs/scale.md)."
)


class PartitionsBlocked(GoodputError):
    """Some partitions could not be computed or break their contract; all others are published."""

    SHOWN = 20

    def __init__(self, blocked: Sequence[BlockedPartition]) -> None:
        self.blocked = tuple(blocked)
        causes = [item for item in blocked if item.blocked_by is None]
        waiting = len(blocked) - len(causes)
        lines = [f"  {item.table} {item.partition}: {item.reason}" for item in causes[: self.SHOWN]]
        more = [f"  and {len(causes) - self.SHOWN} more"] if len(causes) > self.SHOWN else []
        waits = [f"  {waiting} partition(s) wait for these"] if waiting else []
        killed = [_MORE_MEMORY] if any(signal.SIGKILL.name in item.reason for item in causes) else []
        super().__init__(
            "\n".join(
                [
                    f"{len(causes)} partition(s) blocked, all others are published; the last good revision stays:",
                    *lines,
                    *more,
                    *waits,
                    *killed,
                    "Fix what the reasons point to (a file, the settings, a part of the lake: see `goodput verify`), "
                    "then run again; "
                    '`goodput query "from blocked_partitions"` lists them all.',
                ]
            )
        )


class QueryFailed(GoodputError):
    """The database refused the SQL."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}\n`goodput tables` lists the relations and their columns.")


class SqlRefused(GoodputError):
    """SQL that a model wrote cannot be answered: `wrong`, and what it could say instead.

    `near` are names like the one that is not there, `columns` those of the relations that the SQL reads.
    """

    def __init__(
        self, wrong: str, near: Sequence[str] = (), columns: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        meant = [f"Did you mean {' or '.join(near)}?"] if near else []
        known = [f"Columns of {name}: {', '.join(names)}." for name, names in (columns or {}).items()]
        more = "Tool `tables` lists the relations, and with a name its columns with units and meanings."
        super().__init__("\n".join([wrong, *meant, *known, more]))


class AnswerTooLong(GoodputError):
    """An answer is longer than it may be, even without its lists."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"the answer has {size:,} bytes, and may have {limit:,}.\nAsk for less: fewer or shorter values."
        )


class TookTooLong(GoodputError):
    """A question that was not answered in its time, and was stopped."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(
            f"stopped after {limit_s:g} s, the longest that an answer may take.\n"
            "Ask for less: a shorter time, fewer columns, no join of every row with every other; relations of windows "
            "(goodput, waste, gate_failures) answer sooner than those of rows (requests, attempts)."
        )


class TookTooMuch(GoodputError):
    """A question whose answer would have taken more memory than it may."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(
            f"stopped, as it needs more than the {limit_bytes / 2**30:g} GiB of memory that an answer may take.\n"
            "Ask for less: aggregate, filter, or leave long values and lists out."
        )


class QuestionRefused(GoodputError):
    """Why the process that was to answer a question did not."""


class NotDrawn(GoodputError):
    """A picture of an alarm was not made; `why` is its own error, or how it ended."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"no picture: {why}.\nThe numbers that it shows are in alarm_series: "
            'goodput query "from alarm_series"; try again once the machine has less to do.'
        )


class SqlMissing(GoodputError):
    """No file of that name below sql/."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(f"no file is called {name}.sql below {folder}.\nName a relation that has one, or add it.")


class SqlNotUnique(GoodputError):
    """Two files of one name below sql/, so that the name of a relation would mean either."""

    def __init__(self, name: str, paths: Sequence[Path]) -> None:
        found = "\n".join(f"  {path}" for path in paths)
        super().__init__(f"two SQL files are called {name}:\n{found}\nRename one: the name is that of its relation.")


class SqlUnreadable(GoodputError):
    """A file below sql/ that cannot be parsed."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}.sql: cannot parse: {problem}.\nA relation's file holds one SELECT statement.")


class RelationCycle(GoodputError):
    """Relations that are computed from each other; `cycle` begins and ends with the same one."""

    def __init__(self, cycle: Sequence[str]) -> None:
        self.cycle = tuple(cycle)
        super().__init__(
            f"no order computes these relations, each reads the next: {' -> '.join(cycle)}.\n"
            "Take one of these reads out of its SQL file."
        )


class NothingCalled(GoodputError):
    """A step of the plan none of whose inputs calls for a partition of it."""

    def __init__(self, node: str, inputs: Sequence[str]) -> None:
        self.node = node
        super().__init__(
            f"the node {node} would compute nothing: no input calls for a partition of it: {', '.join(inputs)}.\n"
            "Give one an entry with `calls` in `lookaround`: OWN_HOURS where an hour is made from the same hour."
        )


class RuleTestsFailed(GoodputError):
    """Alarms are not in the states that a user's tests of rules expect; `lines` says which."""

    def __init__(self, path: Path, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join([f"{path}: {len(lines)} expectation(s) do not hold:", *(f"  {x}" for x in lines)]))


class UnknownRequest(GoodputError):
    """No such request was published."""

    def __init__(self, key: str, gone_before: Mapping[str, str] | None = None) -> None:
        requests, attempts = ((gone_before or {}).get(table, "") for table in ("requests", "attempts"))
        pruned = f"Requests that ended before {requests}:00 UTC were pruned.\n" if requests else ""
        if attempts > requests:
            pruned += (
                f"Attempts before {attempts}:00 UTC were pruned: their requests are found by their own keys alone.\n"
            )
        super().__init__(
            f"no request, attempt, trace, span or response is called {key!r}.\n{pruned}"
            'Look for one with: goodput query "from requests limit 20"'
        )
