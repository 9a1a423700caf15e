"""Where alarms go: the settings' `[channels.NAME]` and `[notify]`. Sending is the work of stage `notify`."""

from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from goodput.settings.secret import WHERE, Secret
from goodput.settings.settings_model import Names, Seconds, SettingsModel, Unusable

Severity = Literal["page", "ticket", "none"]
Kind = Literal["webhook", "alertmanager", "pagerduty", "slack", "file", "stdout"]
TEMPLATE_FIELDS = (
    *("status", "rule", "severity", "summary", "explanation", "explained_by", "starts_at", "ends_at"),
    *("metric", "workload", "pool", "replica", "value", "usual", "score", "threshold"),
)
_KINDS_WITH = {
    "url": ("webhook", "alertmanager", "pagerduty", "slack"),
    "path": ("file",),
    "signing_secrets": ("webhook",),
    "bearer_token": ("webhook", "alertmanager"),
    "routing_key": ("pagerduty",),
}
_NEEDED = {"webhook": "url", "alertmanager": "url", "slack": "url", "pagerduty": "routing_key", "file": "path"}


Url = Annotated[Secret | None, BeforeValidator(lambda value: {"clear": value} if isinstance(value, str) else value)]
Secrets = Annotated[
    tuple[Secret, ...], BeforeValidator(lambda value: value if isinstance(value, list | tuple) else (value,))
]
Severities = Annotated[
    tuple[Severity, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
]


class ChannelMatch(SettingsModel):
    """Which alarms a channel receives: globs, each key must match; without a key anything does."""

    severity: Severities = ("page", "ticket")
    rule: Names = ("*",)
    pool: Names = ("*",)


class Templates(SettingsModel):
    """Texts of a message; `$name` stands for a field of the alarm."""

    title: str = "[$severity] $summary"
    text: str = "$explanation"

    @field_validator("title", "text")
    @classmethod
    def _fields_exist(cls, value: str) -> str:
        template = Template(value)
        if not template.is_valid():
            raise Unusable(f"{value!r} is no template", "text with $name or ${name}; $$ is a dollar sign")
        unknown = sorted(set(template.get_identifiers()) - set(TEMPLATE_FIELDS))
        if unknown:
            raise Unusable(f"alarms have no field {', '.join(unknown)}", ", ".join(TEMPLATE_FIELDS))
        return value


class Channel(SettingsModel):
    """One receiver of alarms: what it speaks, where it is, which alarms it receives, and how patiently."""

    kind: Kind
    url: Url = None
    path: Path | None = None
    signing_secrets: Secrets = ()
    bearer_token: Secret | None = None
    routing_key: Secret | None = None
    allow_private: bool = Field(default=False, strict=True)
    ca_file: Path | None = None
    match: ChannelMatch = ChannelMatch()
    templates: Templates = Templates()
    group_by: Names = ("severity", "pool")
    repeat_interval_s: Seconds = 86400.0
    resolve_after_s: Seconds = 3 * 3600.0
    fallback: str | None = None
    fallback_after_s: Seconds = 900.0
    connect_timeout_s: Seconds = 5.0
    timeout_s: Seconds = 15.0
    max_attempts: int = Field(default=1000, gt=0, strict=True)  # a page is tried twice an hour: age ends it
    max_age_s: Seconds = 75 * 3600.0

    @model_validator(mode="before")
    @classmethod
    def _address_is_secret(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("kind") == "slack" and isinstance(value.get("url"), str):
            raise Unusable("whoever knows the url of a Slack webhook can post to it", f"url = {WHERE}")
        return value

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        needed = _NEEDED.get(self.kind)
        if needed and getattr(self, needed) is None:
            raise Unusable(f"a {self.kind} channel needs {needed}", f"give {needed} a value")
        for key, kinds in _KINDS_WITH.items():
            if getattr(self, key) and self.kind not in kinds:
                raise Unusable(f"a {self.kind} channel has no {key}", f"{key} belongs to kind {' or '.join(kinds)}")
        return self


class Notify(SettingsModel):
    """What holds for every channel."""

    max_event_age_s: Seconds = 6 * 3600.0
    run_budget_s: Seconds = 30.0
    external_url: str = ""
    hold: Severities = ()
    hold_after: Names = ("deployment", "restart", "scale_in", "scale_out", "salt_rotation", "config_change")
    hold_for_s: Seconds = 2 * 3600.0
    plots: str = ""
    plots_url: str = ""
    retention_s: Seconds = 90 * 86400.0

    @field_validator("plots_url")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if value and not value.startswith(("https://", "http://")):
            raise Unusable(f"{value!r} is no absolute url", "such as https://plots.example.com/goodput")
        return value


def usable_fallbacks(channels: dict[str, Channel]) -> dict[str, Channel]:
    """The channels, each of whose fallbacks is another of them. Raises Unusable."""
    for name, channel in channels.items():
        if channel.fallback is not None and (channel.fallback not in channels or channel.fallback == name):
            others = ", ".join(sorted(set(channels) - {name})) or "a second channel"
            raise Unusable(f"{name}.fallback: {channel.fallback!r} is no other channel", others)
    return channels
