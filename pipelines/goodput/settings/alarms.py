"""[alarms] and [slo.NAME] of goodput.toml, with the default rules: their shape and their defaults.

What is wrong with rules that are well-formed is `alarm_mistakes`' work; what a rule means is monitor's.
"""

import math
from collections.abc import Mapping
from datetime import date, datetime
from functools import cache
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, SerializeAsAny, ValidatorFunctionWrapHandler, WrapValidator, field_validator

from goodput.settings.metrics import DEFAULTS, QUARTER_HOURLY
from goodput.settings.rule import Rule, Severity, kind_names
from goodput.settings.rule_kinds import rule_settings
from goodput.settings.settings_model import Count, Names, Seconds, SettingsModel, Unusable
from goodput.settings.watched import canonical, metric_of

HOUR_S = 3600


def _with_keys_of_its_kind(value: Any, validate: ValidatorFunctionWrapHandler) -> Rule:
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind not in kind_names():
        rule: Rule = validate(value)
        return rule
    return rule_settings(kind).model.model_validate(value)


AnyRule = SerializeAsAny[Annotated[Rule, WrapValidator(_with_keys_of_its_kind)]]


class BurnRate(SettingsModel):
    """One pair of windows: fires while `budget_ratio` of the error budget goes in `long_s`, and goes still."""

    budget_ratio: Annotated[float, Field(gt=0, le=1, strict=True)]
    long_s: Annotated[int, Field(gt=0, strict=True)]
    short_s: Annotated[int, Field(gt=0, strict=True)]
    severity: Severity = "ticket"

    def threshold(self, period_s: float) -> float:
        """The burn rate, in multiples of the one that spends exactly the budget of the period."""
        return self.budget_ratio * period_s / self.long_s


BURN_RATES = (
    BurnRate(budget_ratio=0.05, long_s=6 * HOUR_S, short_s=HOUR_S // 2, severity="page"),
    BurnRate(budget_ratio=0.1, long_s=24 * HOUR_S, short_s=2 * HOUR_S, severity="ticket"),
    BurnRate(budget_ratio=0.1, long_s=72 * HOUR_S, short_s=6 * HOUR_S, severity="ticket"),
)


class Slo(SettingsModel):
    """How much of what is offered shall be goodput over a rolling period, and which requests that is about."""

    objective: Annotated[float, Field(gt=0, lt=1, strict=True)]
    period_s: Seconds = 30 * 86400.0
    workload: Names = ()
    pool: Names = ()
    burn_rates: tuple[BurnRate, ...] = BURN_RATES


class UnusualPeriod(SettingsModel):
    """A stretch of time that is not like others: no history for baselines."""

    begins: datetime
    ends: datetime

    @field_validator("begins", "ends")
    @classmethod
    def _zoned(cls, value: datetime) -> datetime:
        if value.tzinfo is None:
            raise Unusable(f"{value} has no time zone", "such as 2026-11-20T09:00:00Z")
        return value


class Alarms(SettingsModel):
    """What is watched, how, and when somebody is notified."""

    enabled: bool = True
    window_s: Literal[900, 3600] = 3600
    time_zone: str = "UTC"
    days_off: tuple[date, ...] = ()
    excluded: tuple[UnusualPeriod, ...] = ()
    max_age_s: Seconds = 6 * 3600.0
    silent_telemetry_s: Seconds = 2 * 3600.0
    page_budget: Count = 3
    max_series: Annotated[int, Field(gt=0, le=10**5, strict=True)] = 2000
    allowed_step_ratio: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False, strict=True)] = 0.2
    rules: dict[str, AnyRule] = Field(default_factory=dict)

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ValueError, OSError, KeyError) as error:
            raise Unusable(f"{value!r} is no time zone", "an IANA name such as UTC or Europe/Berlin") from error
        return value


@cache
def default_rules() -> dict[str, Rule]:
    """The rules that hold by default, by name."""
    rules: dict[str, Rule] = {}
    for name, severities in DEFAULTS.items():
        for severity in severities:
            of_all: dict[str, Names] = {"label": ("",)} if name == "pass_ratio" else {}
            rules[f"{name}_{severity}"] = Rule(metric=name, severity=severity, for_windows=1, match=of_all)
    rules["kv_cascade"] = Rule(kind="cascade", metric="replica_kv_usage_ratio", above=0.9, for_windows=1)
    rules["pool_silent"] = Rule(kind="absence", metric="goodput_ratio", clear_windows=1)
    return rules


def rules_of(alarms: Alarms) -> dict[str, Rule]:
    """All rules that are enabled, by name: the default ones with what the settings say of them, and the others."""
    rules = dict(default_rules())
    for name, given in alarms.rules.items():
        stated = {key: getattr(given, key) for key in given.model_fields_set}
        rules[name] = rules[name].model_copy(update=stated) if name in rules else given
    return {name: _by_one_name(rule) for name, rule in rules.items() if rule.enabled}


def _by_one_name(rule: Rule) -> Rule:
    name = rule.metric and canonical(rule.metric)
    return rule if name == rule.metric else rule.model_copy(update={"metric": name})


def metrics_of(rules: Mapping[str, Rule]) -> set[str]:
    """Every metric that rules look at, those that their kinds look at beside it, and those that one stands in for."""
    named = {rule.metric for rule in rules.values() if rule.metric is not None}
    named |= {other for kind in {rule.kind for rule in rules.values()} for other in rule_settings(kind).beside}
    known = [metric for name in named if (metric := metric_of(name)) is not None]
    return named | {metric.stands_in_for for metric in known if metric.stands_in_for is not None}


def threshold_of(rule: Rule, window_s: int) -> float:
    """Sigma at which a trend rule fires: its own, else what its metric calls for at its severity."""
    metric = metric_of(rule.metric or "")
    if rule.threshold is not None or metric is None:
        return rule.threshold or math.inf
    usual = metric.page if rule.severity == "page" else metric.ticket
    return QUARTER_HOURLY[usual] if window_s < HOUR_S and metric.chart == "level" else usual
