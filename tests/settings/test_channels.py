"""Channels of alarms in the settings: what each kind needs, and that no secret is shown."""

from pathlib import Path

import pytest

from goodput.errors import SettingsError
from goodput.settings.load import load_settings
from goodput.settings.model import Settings

HOOK = '[channels.ops]\nkind = "webhook"\nurl = "https://a.example"\n'
WHERE = '{ env = "NAME" } or { file = "PATH" }; { clear = "..." } if it is to stand in this file'


def load(folder: Path, text: str) -> Settings:
    (folder / "goodput.toml").write_text(text)
    return load_settings(folder / "goodput.toml")


def test_channels_of_every_kind(tmp_path: Path) -> None:
    channels = load(
        tmp_path,
        HOOK
        + 'signing_secrets = { env = "A" }\nfallback = "pager"\n[channels.ops.match]\nseverity = "page"\n'
        + '[channels.pager]\nkind = "pagerduty"\nrouting_key = { file = "/run/key" }\n'
        + '[channels.am]\nkind = "alertmanager"\nurl = "https://am.example"\nbearer_token = { clear = "t" }\n'
        + '[channels.chat]\nkind = "slack"\nurl = { env = "SLACK" }\n'
        + '[channels.log]\nkind = "file"\npath = "x.jsonl"\n[channels.out]\nkind = "stdout"\n',
    ).channels
    assert [channel.kind for channel in channels.values()] == [
        *("webhook", "pagerduty", "alertmanager", "slack", "file", "stdout")
    ]
    ops = channels["ops"]
    assert (ops.match.severity, ops.match.rule, ops.fallback) == (("page",), ("*",), "pager")
    assert [secret.env for secret in ops.signing_secrets] == ["A"]
    assert (ops.allow_private, ops.group_by, ops.repeat_interval_s) == (False, ("severity", "pool"), 86400)


@pytest.mark.parametrize(
    ("text", "key", "right"),
    [
        (
            '[channels.x]\nkind = "smoke"',
            "channels.x.kind",
            "'webhook', 'alertmanager', 'pagerduty', 'slack', 'file' or ",
        ),
        ('[channels.x]\nkind = "webhook"', "channels.x", "give url a value"),
        ('[channels.x]\nkind = "file"\npath = "a"\nurl = "https://b"', "channels.x", "url belongs to kind webhook or"),
        ('[channels.x]\nkind = "pagerduty"\nrouting_key = "k3y"', "channels.x.routing_key", WHERE),
        ('[channels.x]\nkind = "slack"\nurl = "https://hooks.slack.com/k3y"', "channels.x", f"url = {WHERE}"),
        (f'{HOOK}signing_secrets = ["whsec_k3y"]', "channels.ops.signing_secrets.0", WHERE),
        (f'{HOOK}signing_secrets = [{{ env = "A", clear = "k3y" }}]', "channels.ops.signing_secrets.0", WHERE),
        (f'{HOOK}signing_secrets = [{{ enw = "A" }}]', "channels.ops.signing_secrets.0.enw", "env"),
        (f"{HOOK}allow_private = 1", "channels.ops.allow_private", "true or false"),
        (f'{HOOK}fallback = "ops"', "channels", "a second channel"),
        (f'{HOOK}match = {{ severity = "info" }}', "channels.ops.match.severity.0", "'page', 'ticket' or 'none'"),
        (
            f'{HOOK}[channels.ops.templates]\ntitle = "$hostname"',
            "channels.ops.templates.title",
            "status, rule, severity",
        ),
        (f'{HOOK}[channels.ops.templates]\ntext = "5 $"', "channels.ops.templates.text", "text with $name"),
        (f"{HOOK}urll = 1", "channels.ops.urll", "url"),
        ("[notify]\nhold_for_s = 0", "notify.hold_for_s", "greater than 0"),
        ('[notify]\nplots_url = "plots/"', "notify.plots_url", "such as https://"),
        ("[notify]\nretention_s = 21600", "notify.retention_s", "more than 21600"),
        ("[notify]\nretention_s = 86400\n[alarms]\nmax_age_s = 90000", "notify.retention_s", "more than 90000"),
        (f"{HOOK}[notify]\nretention_s = 80000", "notify.retention_s", "more than 86400"),
    ],
)
def test_one_mistake_with_its_key_and_what_is_right(tmp_path: Path, text: str, key: str, right: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, text)
    (mistake,) = caught.value.mistakes
    assert mistake.key == key
    assert mistake.right.startswith(right)
    assert "k3y" not in str(caught.value)


def test_settings_that_are_printed_show_no_secret(tmp_path: Path) -> None:
    assert "k3y" not in repr(load(tmp_path, f'{HOOK}bearer_token = {{ clear = "k3y" }}'))
