"""The shape of goodput.toml with its defaults. Reading the file, and what is wrong with it, is `load`'s work.

What a setting means for the numbers stands in the stage that reads it.
"""

import math
import re
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from goodput.settings.alarms import Alarms, Slo
from goodput.settings.bucket_zones import BucketZone, bucket_zone
from goodput.settings.channels import Channel, Notify, usable_fallbacks
from goodput.settings.cluster import Cluster
from goodput.settings.columns import ATTRIBUTE
from goodput.settings.dialects import DeclaredDialect
from goodput.settings.gates import LatencyName
from goodput.settings.lake_address import DEFAULT_LAKE, url_of
from goodput.settings.lake_cache import LakeCache
from goodput.settings.listening import Listening, Serve
from goodput.settings.presets import PRESETS
from goodput.settings.privacy import Privacy, unusable_match
from goodput.settings.retention import Retention
from goodput.settings.settings_model import Count, Names, Seconds, SettingsModel, Unusable
from goodput.settings.slice_names import WITHIN_WORKLOAD, cut_by
from goodput.settings.sources import TableSource
from goodput.settings.telemetry import Export, OwnTelemetry


def _not_reserved(name: str) -> str:
    if name == "unassigned":
        raise Unusable("this name means requests that no workload selects", "another name")
    return name


def _other_currency(name: str) -> str:
    if not re.fullmatch("[A-Z]{3}", name) or name == "USD":
        raise Unusable(f"{name!r} is no currency other than US dollars", "a code of ISO 4217, such as EUR")
    return name


# Strict, as all of `settings_model`.
Dollars = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False, strict=True)]
ExchangeRate = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False, strict=True)]
Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False, strict=True)]
# How far around an hour others are read and made again: every hour reaches so far.
Reach = Annotated[float, Field(gt=0, le=30 * 86400.0, allow_inf_nan=False, strict=True)]
Lateness = Annotated[float, Field(gt=0, le=366 * 86400.0, allow_inf_nan=False, strict=True)]
OpsKind = Literal["deployment", "scale_out", "scale_in", "restart", "salt_rotation", "config_change", "incident"]
WorkloadName = Annotated[str, AfterValidator(_not_reserved)]
Currency = Annotated[str, AfterValidator(_other_currency)]


class WorkloadMatch(SettingsModel):
    """What a workload selects; every key that is given must match, each value a glob or a list of them."""

    model: Names = ()
    route: Names = ()
    pool: Names = ()
    tenant: Names = ()
    attributes: dict[str, Names] = Field(default_factory=dict)


class Quality(SettingsModel):
    """Quality gate of a workload. No evaluators named: every evaluator that judged must pass.

    See docs/semantics.md#quality.
    """

    evaluators: Names = ()
    min_score: float | None = Field(default=None, allow_inf_nan=False, strict=True)
    pass_labels: Names = ("pass", "passed", "true", "yes", "good", "correct")
    unlabelled: Literal["estimate", "fail", "pass"] = "estimate"
    sampling: Literal["random", "session", "none"] = "random"  # how those to be labelled were chosen


class Workload(SettingsModel):
    """Which requests are one kind of work, and the gates that an accepted one passes.

    See docs/semantics.md#gates-and-verdicts, #classes-of-work.
    """

    class_: Literal["conversational", "agentic", "rag", "extraction", "voice", "batch"] | None = Field(
        default=None, alias="class"
    )
    unit: Literal["request", "session"] = "request"
    unit_label: str = "request"  # what an accepted one is called
    match: WorkloadMatch = WorkloadMatch()
    retry_budget: Count | None = None
    ttft_s: Seconds | None = None
    tpot_s: Seconds | None = None
    e2e_s: Seconds | None = None
    itl_p95_s: Seconds | None = None
    jitter_s: Seconds | None = None
    completion_window_s: Seconds | None = None
    on_missing: dict[LatencyName, Literal["fail", "pass"]] = Field(default_factory=dict)
    quality: Quality | None = None

    @model_validator(mode="before")
    @classmethod
    def _as_its_class(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        preset = PRESETS.get(value["class"], {}) if isinstance(value.get("class"), str) else {}
        named = {"unit_label": "session"} if value.get("unit") == "session" else {}
        return named | preset | value


class Attributes(SettingsModel):
    """Span or resource attributes that carry what no convention names, first found wins."""

    request_key: Names = ("idempotency.key", "http.request.header.idempotency-key")
    tenant: Names = ("tenant.id", "enduser.id", "user.id")
    session_id: Names = ("gen_ai.conversation.id", "session.id")
    pool: Names = ("k8s.deployment.name", "k8s.statefulset.name", "service.name")
    route: Names = ()
    replica: Names = ("k8s.pod.name", "k8s.pod.uid", "service.instance.id", "host.name")
    model: Names = ("resource.gen_ai.request.model",)
    keep: Names = ()  # under their own names, in `attributes`


class LeaveOut(SettingsModel):
    """Records that are nobody's request: each attribute must match one of its globs."""

    attributes: dict[str, Names]

    @field_validator("attributes")
    @classmethod
    def _not_empty(cls, value: dict[str, Names]) -> dict[str, Names]:
        if not value or not all(value.values()):
            raise Unusable("would leave out every record", "at least one attribute with at least one value")
        return value


class MetricLabels(SettingsModel):
    """Labels of engine metrics that identify the replica, pool, model and version, first found wins."""

    replica: Names = ("pod", "kubernetes_pod_name", "pod_name", "pod_uid", "instance")
    pool: Names = ("deployment", "service", "job")
    model: Names = ("model_name", "model", "target_model_name")
    version: Names = ("service_version", "app_kubernetes_io_version")


class Events(SettingsModel):
    """What the subjects of ops events are to the telemetry: emitters call them as they like."""

    pools: dict[str, str] = Field(default_factory=dict)
    replicas: dict[str, str] = Field(default_factory=dict)


class ReplicaNames(SettingsModel):
    """Other names and addresses of one replica, where telemetry does not show that they are the same."""

    names: Names


class ServedModel(SettingsModel):
    """The model that replicas serve whose records and metrics name none, for the replicas that match."""

    pool: Names = ()
    replica: Names = ()
    model: str


class Costs(SettingsModel):
    """How finely money is followed, which tags identify what a line of a bill pays for, which lines count, and what
    other currencies are worth in US dollars (docs/semantics.md#bills).

    Of tags the first found wins; without globs every line counts.
    """

    step_s: int = Field(default=300, strict=True)
    pool_tags: Names = (
        *("pool", "k8s-deployment", "k8s.deployment.name", "app.kubernetes.io/name", "app_kubernetes_io_name"),
        *("app", "aws:eks:deployment", "goog-k8s-workload-name"),
    )
    replica_tags: Names = (
        "replica",
        "pod",
        "k8s-pod",
        "k8s.pod.name",
        "aws:eks:pod",
        "statefulset_kubernetes_io_pod_name",
    )
    model_tags: Names = ("model", "gen_ai.request.model")
    workload_tags: Names = ()
    route_tags: Names = ()
    tenant_tags: Names = ()
    services: Names = ()
    sub_accounts: Names = ()
    currencies: dict[Currency, ExchangeRate] = Field(default_factory=dict)

    @field_validator("step_s")
    @classmethod
    def _fits_an_hour(cls, value: int) -> int:
        if value < 1 or 3600 % value:
            raise Unusable(f"{value} s fits no hour", "seconds that divide an hour")
        return value


class Rate(SettingsModel):
    """What a GPU costs by the hour, for the replicas that match."""

    pool: Names = ()
    replica: Names = ()
    usd_per_gpu_hour: Dollars
    gpus_per_replica: float = Field(default=1.0, gt=0, le=1e6, allow_inf_nan=False, strict=True)


class Work(SettingsModel):
    """What a token weighs where a replica's cost is shared among its attempts, for the models that match."""

    model: Names = ()
    prefill_weight: Weight = 1.0
    cached_weight: Weight = 0.1
    decode_weight: Weight = 5.0
    draft_weight: Weight = 0.5


class Prices(SettingsModel):
    """From when a price list holds whose path has no date."""

    valid_from: date | None = None


class Report(SettingsModel):
    """The page that each run writes of what it published; none without a file."""

    file: Annotated[Path | None, Field(strict=False)] = None


class Slices(SettingsModel):
    """By what windows are cut beside workload, model, pool and route (docs/semantics.md#slices)."""

    by: Names = ()
    max_values: int = Field(default=1000, gt=0, le=10**9, strict=True)
    max_names: int = Field(default=1000, gt=0, le=10**4, strict=True)

    @field_validator("by")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            cut = cut_by(name)
            if cut != "tenant" and (not cut.startswith(ATTRIBUTE) or cut == ATTRIBUTE or '"' in cut):
                right = (
                    f"tenant, or {ATTRIBUTE}NAME for an attribute; {WITHIN_WORKLOAD} before it is within each workload"
                )
                raise Unusable(f"{name!r} is no slice", right)
            if value.count(name) > 1:
                raise Unusable(f"{name!r} is listed twice", "each slice once")
        return value


class FileLimits(SettingsModel):
    """How much of a file is believed: beyond these a line, or a whole file, is refused, or a run fails."""

    max_line_bytes: int = Field(default=64 * 2**20, gt=0, strict=True)
    max_decompressed_bytes: int = Field(default=32 * 2**30, gt=0, strict=True)
    quarantined_ratio: float = Field(default=0.05, ge=0, le=1, allow_inf_nan=False, strict=True)


class Receive(Listening):
    """How much `goodput receive` takes in, by which certificate, and when it begins a new file."""

    max_body_bytes: int = Field(default=20 * 2**20, gt=0, strict=True)  # what the OTLP specification recommends
    max_pending_bytes: int = Field(default=128 * 2**20, gt=0, strict=True)
    max_requests_per_s: float = Field(default=1000.0, gt=0, allow_inf_nan=False, strict=True)
    rotate_bytes: int = Field(default=64 * 2**20, gt=0, strict=True)
    rotate_s: Seconds = 900.0


class Disruptions(SettingsModel):
    """When a pool counts as recovered from an operation (docs/semantics.md#disruptions)."""

    recovery_tolerance_ratio: float = Field(default=0.10, gt=0, lt=1, allow_inf_nan=False, strict=True)
    cap_s: Reach = 1200.0
    caps_s: dict[OpsKind, Reach] = Field(default_factory=dict)
    in_frontier: bool = Field(default=False, strict=True)


class Schedule(SettingsModel):
    """When the hourly job runs."""

    grace_s: float = Field(default=600.0, ge=0, lt=3600, strict=True)


class Settings(SettingsModel):
    """Everything that can be set in goodput.toml."""

    landing: Names = ("landing",)
    lake: str = DEFAULT_LAKE
    lake_cache: LakeCache = LakeCache()
    windows_s: tuple[Annotated[int, Field(strict=True)], ...] = (300, 3600, 86400)
    latency_origin: Literal["request", "attempt"] = "request"
    max_request_lifetime_s: Reach = 3600.0
    match_within: Names = ()  # attributes that tell clusters or gateways apart, first found wins
    max_session_s: Reach = 14400.0
    label_lateness_s: Lateness = 14 * 86400.0
    staleness_s: Annotated[float, Field(gt=0, le=3600, strict=True)] = 300.0
    max_exact_requests: Annotated[int, Field(ge=0, le=10**9, strict=True)] = 5_000_000
    cache_hit_min_ratio: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False, strict=True)] = 0.5
    long_context_tokens: Annotated[int, Field(gt=0, le=10**9, strict=True)] = 8192
    attributes: Attributes = Attributes()
    dialects: dict[str, DeclaredDialect] = Field(default_factory=dict)
    leave_out: dict[str, LeaveOut] = Field(default_factory=dict)
    metric_labels: MetricLabels = MetricLabels()
    replicas: dict[str, ReplicaNames] = Field(default_factory=dict)
    served_models: dict[str, ServedModel] = Field(default_factory=dict)
    events: Events = Events()
    costs: Costs = Field(default=Costs(), validate_default=True)
    rates: dict[str, Rate] = Field(default_factory=dict)
    work: dict[str, Work] = Field(default_factory=dict)
    prices: Prices = Prices()
    slices: Slices = Slices()
    limits: FileLimits = FileLimits()
    privacy: Privacy = Privacy()
    retention: Retention = Retention()
    receive: Receive = Receive()
    serve: Serve = Serve()
    disruptions: Disruptions = Disruptions()
    schedule: Schedule = Schedule()
    cluster: Cluster = Cluster()
    telemetry: OwnTelemetry = OwnTelemetry()
    export: Export = Export()
    report: Report = Report()
    alarms: Alarms = Alarms()
    slo: dict[str, Slo] = Field(default_factory=dict)
    openslo: Names = ()
    notify: Notify = Notify()
    channels: Annotated[dict[str, Channel], AfterValidator(usable_fallbacks)] = Field(default_factory=dict)
    workloads: dict[WorkloadName, Workload] = Field(default_factory=dict)
    sources: dict[str, TableSource] = Field(default_factory=dict)
    base: Path = Field(default=Path(), exclude=True)
    file_digest: str = Field(default="", exclude=True)

    @field_validator("landing", "windows_s")
    @classmethod
    def _not_empty(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if not value:
            raise Unusable("is empty", "at least one; without this key the default holds")
        return value

    @field_validator("landing")
    @classmethod
    def _of_known_times(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for landing in value:
            bucket_zone(landing)
        return value

    @field_validator("windows_s")
    @classmethod
    def _windows_nest(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        for window in value:
            if window < 1 or 86400 % window or (window < 3600 and 3600 % window) or (window > 3600 and window % 3600):
                right = "seconds that divide an hour, or whole hours that divide a day"
                raise Unusable(f"{window} s fits neither an hour nor a day", right)
        return tuple(sorted(set(value)))

    @field_validator("costs")
    @classmethod
    def _windows_are_whole_steps(cls, value: Costs, info: ValidationInfo) -> Costs:
        windows = info.data.get("windows_s", ())
        for window in windows:
            if window % value.step_s:
                wrong = f"step_s is {value.step_s}, and {window} s of windows_s is no multiple of it"
                right = f"costs.step_s = {math.gcd(value.step_s, *windows)}, or windows_s of whole steps"
                raise Unusable(wrong, right)
        return value

    @field_validator("replicas")
    @classmethod
    def _names_one_replica(cls, value: dict[str, ReplicaNames]) -> dict[str, ReplicaNames]:
        owners: dict[str, str] = {}
        for replica, other in value.items():
            for name in other.names:
                if owners.setdefault(name, replica) != replica:
                    raise Unusable(f"{name!r} stands for {owners[name]} and {replica}", "each name for one replica")
                if name in value and name != replica:
                    raise Unusable(f"{name!r} has names of its own and is a name of {replica}", "one table for both")
        return value

    @field_validator("receive")
    @classmethod
    def _received_is_readable(cls, value: Receive, info: ValidationInfo) -> Receive:
        limits = info.data.get("limits")
        if limits and value.max_body_bytes > limits.max_line_bytes:
            wrong = f"max_body_bytes is {value.max_body_bytes}, a longer line than is ever read"
            raise Unusable(wrong, f"at most limits.max_line_bytes, which is {limits.max_line_bytes}")
        if value.max_pending_bytes < 3 * value.max_body_bytes:
            wrong = f"max_pending_bytes is {value.max_pending_bytes}, too little for one body as sent and as written"
            raise Unusable(wrong, f"at least three times max_body_bytes, which is {value.max_body_bytes}")
        return value

    @model_validator(mode="after")
    def _identities_can_be_matched(self) -> Self:
        for name, workload in self.workloads.items():
            of_identities = {key: globs for key, globs in workload.match.attributes.items() if self._is_identity(key)}
            for key, globs in {"tenant": workload.match.tenant, **of_identities}.items():
                wrong = unusable_match(self.privacy, globs)
                if wrong:
                    raise Unusable(f"workloads.{name}.match.{key}: {wrong}", "identities in full, without * or ?")
        return self

    def _is_identity(self, attribute: str) -> bool:
        return attribute in {*self.privacy.also, *self.attributes.tenant, *self.attributes.session_id}

    @field_validator("base", "file_digest", mode="before")
    @classmethod
    def _not_in_the_file(cls, value: Any) -> Any:
        raise PydanticCustomError("extra_forbidden", "no such key")

    @property
    def kept_attributes(self) -> tuple[str, ...]:
        """Names of attributes that records keep under these names."""
        matched = {name for workload in self.workloads.values() for name in workload.match.attributes}
        cuts = map(cut_by, self.slices.by)
        sliced = {cut.removeprefix(ATTRIBUTE) for cut in cuts if cut.startswith(ATTRIBUTE)}
        return tuple(sorted({*self.attributes.keep, *self.match_within, *matched, *sliced}))

    @property
    def landing_paths(self) -> tuple[Path, ...]:
        """Landing files and folders, relative ones below the folder of the settings file."""
        return tuple(self.base / path for path in self.landing if bucket_zone(path) is None)

    @property
    def bucket_zones(self) -> tuple[BucketZone, ...]:
        """Landing zones in object stores."""
        return tuple(zone for landing in self.landing if (zone := bucket_zone(landing)) is not None)

    @property
    def landing_names(self) -> tuple[str, ...]:
        """Where telemetry is looked for, in the user's words."""
        return tuple(path if bucket_zone(path) else str(self.base / path) for path in self.landing)

    @property
    def plots_path(self) -> Path:
        """The folder of the plots of alarms: in the lake, unless the settings name one."""
        return self.base / (self.notify.plots or self.lake_path / "plots")

    @property
    def report_path(self) -> Path | None:
        """The page that a run writes, None for none."""
        return None if self.report.file is None else self.base / self.report.file

    @property
    def lake_path(self) -> Path:
        """The lake's root folder; of a lake in an object store its folder on this machine."""
        return self.base / (self.lake if self.lake_url is None else self.lake_cache.folder)

    @property
    def lake_url(self) -> str | None:
        """The address of a lake in an object store, None of one in a folder."""
        return url_of(self.lake)
