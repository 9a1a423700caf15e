"""Finds rules that are well-formed and never fire, or always: reported when settings are read, not at night."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from goodput.contracts import contract
from goodput.errors import Mistake
from goodput.globs import matches_any
from goodput.settings.alarms import BurnRate, Slo, rules_of
from goodput.settings.metrics import AlarmMetric
from goodput.settings.rule import Rule, kind_names
from goodput.settings.rule_kinds import rule_settings
from goodput.settings.watched import metric_of, near

if TYPE_CHECKING:
    from goodput.settings.model import Settings

_OF_NO_WORKLOAD = ("", "unknown")  # what requests are called that match none
_OF_SOME_KINDS = (("above", "below"), ("threshold",), ("worse",))  # keys of Rule that not every kind takes


def alarm_mistakes(settings: "Settings") -> Iterator[Mistake]:
    """Everything that is wrong with [alarms] and [slo.NAME]."""
    alarms = settings.alarms
    asked = {"window_s", "rules"} & alarms.model_fields_set
    if asked and alarms.window_s not in settings.windows_s:
        yield Mistake("alarms.window_s", f"windows_s has none of {alarms.window_s} s", "one that windows_s names")
    yield from _retention_mistakes(settings)
    for span in alarms.excluded:
        if span.begins >= span.ends:
            yield Mistake("alarms.excluded", f"{span.begins} is not before {span.ends}", "begins before ends")
    for name, rule in rules_of(alarms).items():
        if name in alarms.rules:
            yield from _rule_mistakes(f"alarms.rules.{name}", rule)
            yield from _workload_mistakes(f"alarms.rules.{name}", rule.workload, settings)
    for name, slo in settings.slo.items():
        yield from _workload_mistakes(f"slo.{name}", slo.workload, settings)
        yield from _objective_mistakes(f"slo.{name}", slo, min(settings.windows_s))


def _retention_mistakes(settings: "Settings") -> Iterator[Mistake]:
    """What is forgotten while it is still recent would be sent again."""
    ages = {"alarms.max_age_s": settings.alarms.max_age_s, "notify.max_event_age_s": settings.notify.max_event_age_s}
    for name, channel in settings.channels.items():
        ages[f"channels.{name}.repeat_interval_s"] = channel.repeat_interval_s
        ages[f"channels.{name}.resolve_after_s"] = channel.resolve_after_s
    longest = max(ages, key=lambda key: ages[key])
    if settings.notify.retention_s <= ages[longest]:
        wrong = f"{settings.notify.retention_s:g} s: alarms that are still recent by {longest} would be sent again"
        yield Mistake("notify.retention_s", wrong, f"more than {ages[longest]:g}")


def _rule_mistakes(key: str, rule: Rule) -> Iterator[Mistake]:
    metric = metric_of(rule.metric or "")
    if metric is None:
        wrong = "is missing" if rule.metric is None else f"{rule.metric!r} is no metric that can be watched"
        yield Mistake(f"{key}.metric", wrong, ", ".join(near(rule.metric or "")))
    else:
        yield from _label_mistakes(key, rule, metric)
    kind = rule_settings(rule.kind)
    yield from kind.mistakes(key, rule)
    for names in _OF_SOME_KINDS:
        if not kind.takes.issuperset(names) and any(getattr(rule, name) is not None for name in names):
            wrong = f"{' and '.join(names)} {'do' if len(names) > 1 else 'does'} not go with the kind {rule.kind}"
            takers = (other for other in kind_names() if rule_settings(other).takes.issuperset(names))
            yield Mistake(key, wrong, " or ".join(f'kind = "{other}"' for other in takers))


def _workload_mistakes(key: str, globs: Sequence[str], settings: "Settings") -> Iterator[Mistake]:
    """Names of workloads are all in the settings: where none is meant, nothing would ever match."""
    known = (*settings.workloads, *_OF_NO_WORKLOAD)
    if settings.workloads and globs and not any(matches_any(name, globs) for name in known):
        wrong = f"{', '.join(globs)} is no workload of the settings: nothing would match"
        yield Mistake(f"{key}.workload", wrong, ", ".join(settings.workloads))


def _label_mistakes(key: str, rule: Rule, metric: AlarmMetric) -> Iterator[Mistake]:
    for name, globs in rule.wanted.items():
        if globs and name not in metric.labels and not matches_any("", globs):
            wrong = f"{rule.metric} has no series by {name}: nothing would match"
            yield Mistake(f"{key}.{name}", wrong, ", ".join(metric.labels))
        elif name in metric.labels:
            yield from _word_mistakes(f"{key}.match.{name}", globs, contract(metric.relation)[name].valid_values)


def _word_mistakes(key: str, globs: Sequence[str], words: Sequence[str]) -> Iterator[Mistake]:
    """Words that a label never has, where its column has a list of those that it can."""
    for glob in globs if words else ():
        if not any(matches_any(word, [glob]) for word in words):
            near_words = get_close_matches(glob, words, 3) or words
            yield Mistake(key, f"{glob!r} is none of its words: nothing would match", ", ".join(near_words))


def _objective_mistakes(key: str, slo: Slo, grain_s: int) -> Iterator[Mistake]:
    taken: set[tuple[int, str]] = set()
    for number, burn in enumerate(slo.burn_rates):
        where = f"{key}.burn_rates.{number}"
        yield from _burn_mistakes(where, slo, burn, grain_s)
        if (burn.long_s, burn.severity) in taken:
            wrong = f"a {burn.severity} over {burn.long_s} s is there already, and would have the same name"
            yield Mistake(where, wrong, "another long_s or severity")
        taken.add((burn.long_s, burn.severity))


def _burn_mistakes(key: str, slo: Slo, burn: BurnRate, grain_s: int) -> Iterator[Mistake]:
    threshold, most = burn.threshold(slo.period_s), 1 / (1 - slo.objective)
    if threshold >= most:
        least = (1 - slo.objective) * slo.period_s
        wrong = (
            f"a burn rate of {threshold:.4g} can never fire: with an objective of {slo.objective} it is {most:.4g} "
            "when every request is bad"
        )
        yield Mistake(key, wrong, f"budget_ratio below {burn.long_s / least:.4g}, or a longer long_s")
    for name, length_s in (("long_s", burn.long_s), ("short_s", burn.short_s)):
        if length_s % grain_s:
            wrong = f"{length_s} s is no multiple of the shortest of windows_s"
            yield Mistake(f"{key}.{name}", wrong, f"a multiple of {grain_s}")
    if not burn.short_s <= burn.long_s <= slo.period_s:
        yield Mistake(key, "its windows are not in order", "short_s <= long_s <= period_s")
