"""What to do when an alarm fires: every kind of rule and every default rule has a section that is about it."""

import re

import numpy as np
import pytest

from documents import ROOT, anchors
from goodput.monitor.grid import Grid
from goodput.monitor.rule_kind import rule_kind
from goodput.monitor.rule_series import RuleSeries
from goodput.settings.alarms import default_rules
from goodput.settings.rule import kind_names

PAGE = ROOT / "docs/respond.md"


def section(rule: str, kind: str, metric: str | None) -> str:
    """The anchor that an alarm of a rule names."""
    none = np.empty(0)
    one = RuleSeries(rule, kind, "page", metric, (), 3.0, none, none, (), grid=Grid(0, 1))
    page, _, anchor = rule_kind(kind).what_to_do(one).partition("#")
    assert ROOT / page == PAGE
    return anchor


def text_of(anchor: str) -> str:
    """What stands below the heading of a section."""
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    (found,) = [text for text in sections if text.splitlines()[0].lower().replace(" ", "-") == anchor]
    return found


@pytest.mark.parametrize("name", default_rules())
def test_each_default_rule_has_a_section_that_names_it(name: str) -> None:
    rule = default_rules()[name]
    known = rule.metric if rule.kind == "trend" else name
    assert f"`{known}`" in text_of(section(name, rule.kind, rule.metric))


@pytest.mark.parametrize("kind", kind_names())
def test_each_kind_has_a_section_for_metrics_that_only_settings_name(kind: str) -> None:
    assert section("mine", kind, "waste.usd") in anchors(PAGE)


def test_the_page_lists_its_sections_and_no_other() -> None:
    listed = re.findall(r"^- \[.*\]\(#(.*)\)$", PAGE.read_text(), flags=re.MULTILINE)
    assert set(listed) == anchors(PAGE) - {"when-an-alarm-fires"}
