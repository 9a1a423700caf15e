"""Alert policies of OpenSLO v1: the burn rates that an SLO names are those of its objective, or are refused by name.

A condition there has one window, so both windows of the burn rate are that one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_DURATION = re.compile(r"(\d+)([mhdw])")
_SEVERITIES = ("page", "ticket")
Document = Mapping[str, Any]
Named = Mapping[tuple[str, str], Document]  # documents by kind and name


class NotSo(Exception):
    """What stands in a document cannot be meant: where, what is wrong, what would be right."""

    def __init__(self, where: str, what: str, right: str) -> None:
        self.where, self.what, self.right = where, what, right
        super().__init__(where)


def seconds(text: object) -> int | None:
    """Seconds of a duration such as 28d; None where it is none."""
    found = _DURATION.fullmatch(str(text))
    return None if found is None else int(found[1]) * _UNITS[found[2]]


def burn_rates(spec: Document, period_s: float, named: Named) -> list[dict[str, Any]] | None:
    """The tables of [[slo.NAME.burn_rates]] that an SLO's `alertPolicies` are; None where it has no such key.

    Raises NotSo.
    """
    policies = spec.get("alertPolicies")
    if policies is None:
        return None
    if not isinstance(policies, list):
        raise NotSo("spec.alertPolicies", "is no list", "a list of policies, or of alertPolicyRef")
    return [_burn_rate(policy, period_s, named) for policy in policies]


def _burn_rate(given: object, period_s: float, named: Named) -> dict[str, Any]:
    name, policy = _resolved(given, "alertPolicyRef", "AlertPolicy", "spec.alertPolicies", named)
    where = f"alert policy {name}"
    if policy.get("alertWhenNoData"):
        raise NotSo(where, "alertWhenNoData is not supported", 'a rule of kind = "absence" in [alarms.rules]')
    conditions = policy.get("conditions")
    if not isinstance(conditions, list) or len(conditions) != 1:
        raise NotSo(where, "conditions is not usable", "a list of exactly one condition")
    name, condition = _resolved(conditions[0], "conditionRef", "AlertCondition", where, named)
    where = f"alert condition {name}"
    if condition.get("severity") not in _SEVERITIES:
        raise NotSo(where, f"severity {condition.get('severity')!r} is not known", " or ".join(_SEVERITIES))
    threshold, window_s = _burning(where, condition.get("condition"))
    return {
        "budget_ratio": threshold * window_s / period_s,
        "long_s": window_s,
        "short_s": window_s,
        "severity": condition["severity"],
    }


def _burning(where: str, condition: object) -> tuple[float, int]:
    """Threshold and window in seconds of a condition."""
    if not isinstance(condition, dict):
        raise NotSo(where, "has no condition", "condition: {kind: burnrate, op: gt, threshold, lookbackWindow}")
    for name, usable in (("kind", ("burnrate",)), ("op", ("gt", "gte"))):
        if condition.get(name) not in usable:
            raise NotSo(where, f"{name} {condition.get(name)!r} is not supported", " or ".join(usable))
    if seconds(condition.get("alertAfter", "0m")) != 0:
        raise NotSo(
            where, f"alertAfter {condition['alertAfter']!r} is not supported", "0m, and a longer lookbackWindow"
        )
    threshold = condition.get("threshold")
    if not isinstance(threshold, int | float) or isinstance(threshold, bool) or not threshold > 0:
        raise NotSo(where, f"threshold {threshold!r} is no burn rate", "a number above 0, such as 14.4")
    window_s = seconds(condition.get("lookbackWindow"))
    if not window_s:
        raise NotSo(where, f"lookbackWindow {condition.get('lookbackWindow')!r} is no duration", "such as 1h")
    return float(threshold), window_s


def _resolved(given: object, reference: str, kind: str, where: str, named: Named) -> tuple[str, Document]:
    """Name and spec of what stands in a list: a reference to a document, or the document itself."""
    if not isinstance(given, dict):
        raise NotSo(where, f"{given!r} is not usable", f"a document of kind {kind}, or {reference}")
    if reference in given:
        name = str(given[reference])
        if (kind, name) not in named:
            there = ", ".join(sorted(other for found, other in named if found == kind)) or f"a document of kind {kind}"
            raise NotSo(where, f"{reference} {name!r} is in none of the files", there)
        given = named[kind, name]
    elif given.get("kind") != kind:
        raise NotSo(where, f"kind {given.get('kind')!r} is not usable", f"a document of kind {kind}, or {reference}")
    metadata, spec = given.get("metadata"), given.get("spec")
    name = str(metadata.get("name")) if isinstance(metadata, dict) else "without a name"
    if not isinstance(spec, dict):
        raise NotSo(f"{kind} {name}", "has no spec", "a mapping")
    return name, spec


def by_name(documents: Sequence[Document]) -> dict[tuple[str, str], Document]:
    """Documents that others refer to, by kind and name."""
    return dict(_keys(documents))


def _keys(documents: Sequence[Document]) -> Iterator[tuple[tuple[str, str], Document]]:
    for document in documents:
        metadata = document.get("metadata")
        if document.get("kind") in {"AlertPolicy", "AlertCondition"} and isinstance(metadata, dict):
            yield (str(document["kind"]), str(metadata.get("name"))), document
