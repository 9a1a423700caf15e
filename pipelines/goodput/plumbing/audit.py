"""The audit of computed partitions: what is found in them that their table's contract does not allow.

Each of a contract's checks is a term of one DuckDB query over all files. Great Expectations, which takes seconds to
import, reports only on what that query found: the good run of things never pays for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from goodput.plumbing import interrupt
from goodput.plumbing.audit_scan import Suspect, find_suspects
from goodput.plumbing.parquet_layouts import why_unreadable

_PARTITIONS_A_SCAN = 512  # bounds the memory that comparing keys takes


@dataclass(frozen=True)
class _Found:
    """Suspects among the partitions, and a sentence for each file that cannot be read, by partition."""

    suspects: Sequence[Suspect]
    unreadable: Mapping[str, Sequence[str]]


def audit(table: str, parts: Mapping[str, Sequence[Path]]) -> dict[str, tuple[str, ...]]:
    """Failures of each partition that breaks the contract of `table`, as sentences; partitions without are left out.

    `parts` maps a partition ("2026-11-20T09") to its Parquet files: any number, with or without rows. The primary
    key must be unique within a partition. A file that cannot be read is a failure of its partition alone.
    """
    files = {partition: [str(path) for path in paths] for partition, paths in parts.items() if paths}
    if not files:
        return {}
    found = _find(table, files)
    reported = _reported(table, found.suspects) if found.suspects else {}
    failing = sorted({*found.unreadable, *reported})
    return {partition: (*found.unreadable.get(partition, ()), *reported.get(partition, ())) for partition in failing}


def _find(table: str, parts: Mapping[str, Sequence[str]]) -> _Found:
    """Look at all partitions at once; where they are too many or that fails, at each half of them."""
    if len(parts) <= _PARTITIONS_A_SCAN:
        try:
            return _Found(find_suspects(table, parts), {})
        except duckdb.Error as error:
            interrupt.check(error)
            if len(parts) == 1:
                return _find_one(table, *next(iter(parts.items())))
    names = sorted(parts)
    half = len(names) // 2
    first, second = (_find(table, {name: parts[name] for name in part}) for part in (names[:half], names[half:]))
    return _Found([*first.suspects, *second.suspects], {**first.unreadable, **second.unreadable})


def _find_one(table: str, partition: str, files: Sequence[str]) -> _Found:
    """Look at a partition of which a file cannot be read or a rule cannot be evaluated."""
    reasons = {file: why_unreadable(file) for file in files}
    readable = [file for file, reason in reasons.items() if reason is None]
    sentences = [f"unreadable: a file cannot be read: {file}: {reason}" for file, reason in reasons.items() if reason]
    suspects = find_suspects(table, {partition: readable}, check_by_check=True) if readable else []
    return _Found(suspects, {partition: sentences} if sentences else {})


def _reported(table: str, suspects: Sequence[Suspect]) -> dict[str, list[str]]:
    from goodput.plumbing.expectations.validation import failures  # noqa: PLC0415 - imports Great Expectations

    reported: dict[str, list[str]] = {}
    for suspect, sentences in zip(suspects, failures(table, suspects), strict=True):
        # A suspect that Great Expectations takes for good is blocked all the same: the two should not differ.
        alone = [f"{', '.join(sorted(suspect.checks))}: found by the audit, not by Great Expectations"]
        reported.setdefault(suspect.partition, []).extend(sentences or alone)
    interrupt.check()  # which Great Expectations takes for a check that failed
    return reported
