"""What failed expectations say to a person: which check, how many rows, a few of them.

Reading the results of Great Expectations belongs here; running it does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from goodput.plumbing.expectations.suite import COLUMNS, TYPES

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult, ExpectationValidationResult

EXAMPLES = 3


@dataclass(frozen=True)
class Failure:
    """One failed check: the name that suite.py gave it, and the sentence that reports it."""

    check: str
    sentence: str


def failed_checks(result: "ExpectationSuiteValidationResult") -> set[str]:
    """Names of the checks that failed, however much of the rows the result holds."""
    return {_meta(item)["check"] for item in result.results if not item.success}


def failures_of(result: "ExpectationSuiteValidationResult") -> list[Failure]:
    """Failed checks of one validation, by name.

    Where columns or types are wrong, the checks that could not run for that reason are left out.
    """
    failed = {_meta(item)["check"]: item for item in result.results if not item.success}
    misshapen = any(check in failed and not _raised(failed[check]) for check in (COLUMNS, TYPES))
    return [
        Failure(check, f"{check}: {_meta(item)['broken']}: {_found(check, item)}")
        for check, item in sorted(failed.items())
        if not (misshapen and _raised(item))
    ]


def _meta(item: "ExpectationValidationResult") -> dict[str, str]:
    meta: dict[str, str] = item.expectation_config["meta"]  # type: ignore[index] # set in every result of a run
    return meta


def _raised(item: "ExpectationValidationResult") -> list[str]:
    """Messages of the exceptions that kept a check from running: of the check, or of each of its metrics."""
    info: dict[str, Any] = item.exception_info
    causes = [info] if "raised_exception" in info else list(info.values())
    return [cause["exception_message"] for cause in causes if cause["raised_exception"]]


def _found(check: str, item: "ExpectationValidationResult") -> str:
    found = item.result
    if raised := _raised(item):
        return f"could not be checked: {raised[0]}"
    if check == COLUMNS:
        return _columns(item.expectation_config["kwargs"]["column_list"], found["observed_value"])  # type: ignore[index]
    if check == TYPES:
        rows = found["details"]["unexpected_rows"]
        return ", ".join(f"{row['column_name']} is {row['found']}, not {row['wanted']}" for row in rows)
    if "unexpected_count" in found:
        return _counted(found["unexpected_count"], found["unexpected_index_list"])
    return _counted(found["observed_value"], found["details"]["unexpected_rows"])


def _columns(wanted: Sequence[str], found: Sequence[str]) -> str:
    missing = [name for name in wanted if name not in found]
    unknown = [name for name in found if name not in wanted]
    wrong = [f"{word} {', '.join(names)}" for word, names in (("missing", missing), ("unknown", unknown)) if names]
    return "; ".join(wrong) or f"out of order: {', '.join(found)}"


def _counted(rows: int, examples: Sequence[dict[str, Any]]) -> str:
    shown = sorted(", ".join(f"{name}={_literal(value)}" for name, value in row.items()) for row in examples)
    return f"{rows} row{'s' if rows != 1 else ''}, for example {'; '.join(shown[:EXAMPLES])}"


def _literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, datetime | date) else repr(value)
