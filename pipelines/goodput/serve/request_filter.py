"""What a reader asks for in the address of a page of requests: which requests, and the links that ask for others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

from goodput.ask.cells import iso
from goodput.ask.database import Row
from goodput.ask.when import instant
from goodput.errors import UsageError
from goodput.measure.slices import DIMENSIONS, cut_path
from goodput.plumbing.hours import HOUR_FORMAT
from goodput.settings.columns import ATTRIBUTE
from goodput.settings.gates import GATES

CHOICES = (*DIMENSIONS, "tenant", "verdict", "gate")
VERDICTS = ("accepted", "unlabelled", "rejected", "slow", "over_budget", "failed", "ungated", "unevaluable")
KNOWN = {"verdict": VERDICTS, "gate": GATES}
_LONGEST = timedelta(days=400)


@dataclass(frozen=True)
class RequestFilter:
    """Requests that ended in `[from_at, until_at)`, of `chosen` dimensions, verdict or gate, each with its value.

    `after` is the last one of the page before: when it ended, and the attempt that delivered it.
    """

    from_at: datetime
    until_at: datetime
    chosen: Mapping[str, str]
    after: tuple[datetime, str] | None = None

    def filter_row(self) -> Row:
        """The row of `request_filter`."""
        cuts = [(cut_path(name), value) for name, value in self.chosen.items() if name not in _COLUMNS]
        path, value = cuts[0] if cuts else (None, None)
        columns = {name: self.chosen.get(name) for name in _COLUMNS}
        return {"from_at": self.from_at, "until_at": self.until_at, "cut_path": path, "slice_value": value, **columns}

    def hours(self) -> list[str]:
        """The hours in which such requests lie."""
        first = self.from_at.replace(minute=0, second=0, microsecond=0)
        many = -((first - self.until_at) // timedelta(hours=1))
        return [(first + timedelta(hours=n)).strftime(HOUR_FORMAT) for n in range(many)]

    def link(self) -> str:
        """The address that asks for these."""
        named = {"from": iso(self.from_at), "until": iso(self.until_at), **self.chosen}
        page = {"after": f"{iso(self.after[0])} {self.after[1]}"} if self.after else {}
        return f"/requests?{urlencode(named | page)}"

    def with_choice(self, name: str, value: str) -> "RequestFilter":
        """The same with one more choice, or another one, from its first page on."""
        return replace(self, chosen={**self.chosen, name: value}, after=None)


_COLUMNS = (*DIMENSIONS, "verdict", "gate")


def each_once(parameters: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The parameters of an address by their names. Raises UsageError where one is there with two values."""
    given: dict[str, str] = {}
    for name, value in parameters:
        if value and given.setdefault(name, value) != value:
            raise UsageError(f"{name} {given[name]} and {name} {value}: a choice has one value; leave one out.")
    return given


def asked_for(parameters: Mapping[str, str], latest: Callable[[], tuple[datetime, datetime]]) -> RequestFilter:
    """What the parameters of an address ask for, of the `latest` period where they name none. Raises UsageError."""
    given = {name: value for name, value in parameters.items() if value}
    from_at, until_at = _period(given.pop("from", None), given.pop("until", None), latest)
    if not from_at < until_at <= from_at + _LONGEST:
        raise UsageError(f"until {iso(until_at)} is not within {_LONGEST.days} days after from {iso(from_at)}.")
    after = _after(given.pop("after", ""))
    for name, value in given.items():
        if name not in CHOICES and not name.startswith(ATTRIBUTE):
            raise UsageError(f"{name}: no such choice. There are from, until, {', '.join(CHOICES)}.")
        if name in KNOWN and value not in KNOWN[name]:
            raise UsageError(f"{name} {value}: there are {', '.join(KNOWN[name])}.")
    if len(given.keys() - _COLUMNS) > 1:
        raise UsageError("requests are divided by one tenant or attribute at a time.")
    return RequestFilter(from_at, until_at, given, after)


def _period(
    begins: str | None, ends: str | None, latest: Callable[[], tuple[datetime, datetime]]
) -> tuple[datetime, datetime]:
    """One end alone is taken with that of the latest period, or with a day beside it."""
    first, last = latest() if begins is None or ends is None else (None, None)
    from_at = instant("from", begins) if begins else first
    until_at = instant("until", ends) if ends else last
    assert from_at is not None  # noqa: S101
    assert until_at is not None  # noqa: S101
    return from_at, until_at


def _after(text: str) -> tuple[datetime, str] | None:
    at, _, attempt_id = text.partition(" ")
    return (instant("after", at), attempt_id) if text else None


def request_link(row: Row) -> str:
    """The address that explains a request."""
    key = row["request_key"]
    # browsers take these for folders, whatever they are written like
    return f"/requests/{quote(row['delivering_attempt_id'] if key in {'.', '..'} else key, safe='')}"


def alarm_link(alarm_id: str) -> str:
    """The address that explains an alarm."""
    return f"/alarms/{quote(alarm_id, safe='')}"
