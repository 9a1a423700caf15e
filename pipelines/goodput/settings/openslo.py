"""Objectives as OpenSLO v1 YAML: which SLO documents are objectives of goodput, as tables of [slo.NAME].

Of a file, alert policies and conditions are read where an SLO names them; other kinds are for others and left alone.
How an objective is judged is monitor's work.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from goodput.errors import Mistake
from goodput.settings.openslo_alerts import Document, Named, NotSo, burn_rates, by_name, seconds

_VERSION = "openslo/v1"
_MOST_BYTES = 2**20
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
Tables = dict[str, dict[str, Any]]


def objectives(base: Path, globs: Sequence[str]) -> tuple[Tables, list[Mistake]]:
    """Tables for [slo.NAME] of all SLOs in files that match `globs` below `base`, and everything wrong with them."""
    tables: Tables = {}
    wrong: list[Mistake] = []
    documents: list[tuple[str, Document]] = []
    for glob in globs:
        files = sorted(base.glob(glob)) if not Path(glob).is_absolute() else [Path(glob)]
        if not files:
            wrong.append(Mistake("openslo", f"no file matches {glob!r}", "files of OpenSLO v1, below this one"))
        for file in files:
            documents += _documents(file, wrong)
    named = by_name([document for _, document in documents])
    for key, document in documents:
        if document.get("kind") == "SLO":
            _add(tables, key, document, named, wrong)
    return tables, wrong


def _documents(file: Path, wrong: list[Mistake]) -> Iterator[tuple[str, Document]]:
    """The documents of one file, each with where it stands."""
    import yaml  # noqa: PLC0415  (only where the settings name such a file)

    try:
        with file.open("rb") as stream:
            text = stream.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ValueError(f"larger than {_MOST_BYTES} bytes")
        found = list(yaml.safe_load_all(text))
    except (OSError, ValueError, yaml.YAMLError) as error:
        wrong.append(Mistake(f"openslo {file}", str(error), "readable YAML"))
        return
    for number, document in enumerate(found, 1):
        if isinstance(document, dict):
            yield f"openslo {file} #{number}", document


def _add(tables: Tables, key: str, document: Document, named: Named, wrong: list[Mistake]) -> None:
    try:
        name, table = _table(document, named)
    except NotSo as error:
        wrong.append(Mistake(f"{key} {error.where}", error.what, error.right))
        return
    if name in tables:
        wrong.append(Mistake(f"{key} metadata.name", f"{name!r} is there already", "another name"))
    tables[name] = table


def _table(document: Document, named: Named) -> tuple[str, dict[str, Any]]:
    if document.get("apiVersion") != _VERSION:
        raise NotSo("apiVersion", f"{document.get('apiVersion')!r} is not known", _VERSION)
    name = _part(document, "metadata").get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise NotSo("metadata.name", f"{name!r} is no name", "lower case letters, digits and hyphens, up to 63")
    spec = _part(document, "spec")
    if spec.get("budgetingMethod", "Occurrences") != "Occurrences":
        raise NotSo("spec.budgetingMethod", f"{spec['budgetingMethod']!r} is not supported", "Occurrences")
    _goodput_alone(spec)
    table: dict[str, Any] = {"objective": _target(spec), "period_s": _period(spec)}
    if spec.get("service"):
        table["workload"] = str(spec["service"])
    burns = burn_rates(spec, table["period_s"], named)
    if burns is not None:
        table["burn_rates"] = burns
    return name, table


def _goodput_alone(spec: Document) -> None:
    """An objective is a share of goodput: one that means something else must not be judged as one."""
    indicator = spec.get("indicator")
    of_indicator = indicator.get("spec") if isinstance(indicator, dict) else None
    if isinstance(of_indicator, dict) and "thresholdMetric" in of_indicator:
        raise NotSo("spec.indicator", "thresholdMetric is not supported", "ratioMetric, and a gate for its bound")
    extra = sorted({"op", "value", "timeSliceTarget", "timeSliceWindow"} & set(_only(spec, "objectives")))
    if extra:
        raise NotSo("spec.objectives", f"{', '.join(extra)} is not supported", "target or targetPercent alone")


def _part(document: Document, name: str) -> Document:
    part = document.get(name)
    if not isinstance(part, dict):
        raise NotSo(name, "is missing", "a mapping")
    return part


def _only(spec: Document, name: str) -> Document:
    items = spec.get(name)
    if not isinstance(items, list) or len(items) != 1 or not isinstance(items[0], dict):
        raise NotSo(f"spec.{name}", "is not usable", "a list of exactly one item")
    return items[0]


def _target(spec: Document) -> float:
    objective = _only(spec, "objectives")
    target, percent = objective.get("target"), objective.get("targetPercent")
    if (target is None) == (percent is None):
        raise NotSo("spec.objectives", "needs one target", "either target or targetPercent")
    given = target if percent is None else percent
    if not isinstance(given, int | float) or isinstance(given, bool):
        raise NotSo("spec.objectives", f"{given!r} is no number", "such as target: 0.99")
    return float(given) if percent is None else float(given) / 100


def _period(spec: Document) -> float:
    window = _only(spec, "timeWindow")
    period_s = seconds(window.get("duration"))
    if period_s is None or window.get("isRolling") is not True:
        raise NotSo("spec.timeWindow", "is not usable", "a rolling duration such as {duration: 28d, isRolling: true}")
    return float(period_s)
