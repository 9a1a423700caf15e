"""Events about assets: what of them Dagster does not know yet, with rows, versions, provenance and audits.

A run inside Dagster yields these events; `dagster_report` stores those of a run beside it. One definition, so that both
look the same.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import dagster as dg
from dagster._core.definitions.data_version import (  # the tags have no public names
    CODE_VERSION_TAG,
    DATA_VERSION_IS_USER_PROVIDED_TAG,
    DATA_VERSION_TAG,
    DEFAULT_DATA_VERSION,
    get_input_data_version_tag,
    get_input_event_pointer_tag,
)

from goodput.plumbing.asset_checks import AssetCheck, CheckFailure, CheckLookup
from goodput.plumbing.dagster_columns import lineage_of
from goodput.plumbing.hours import day_of, is_hour
from goodput.plumbing.node import Context
from goodput.plumbing.stored_assets import DATABASE, AssetContent, StoredAsset

_EMPTY = AssetContent("empty", 0)  # an hour of which a table has no part, as nothing calls for one
_LISTED = 20  # failures that a check's result lists


@dataclass
class ReportEvents:
    """The events of one report about some of `assets`, the lake being as `context` has it."""

    instance: dg.DagsterInstance
    context: Context
    assets: Sequence[StoredAsset]
    hours: Sequence[str]
    emitted: int = field(default=0, init=False)
    _called_by_name: dict[str, set[str]] = field(default_factory=dict, init=False)
    _input_versions: dict[str, str] = field(default_factory=dict, init=False)
    _headlines: dict[str, str] = field(default_factory=dict, init=False)

    @cached_property
    def _newest_event(self) -> int:
        return self.instance.event_log_storage.get_maximum_record_id() or 0

    @cached_property
    def _deps(self) -> dict[str, tuple[str, ...]]:
        return {asset.name: asset.deps for asset in self.assets}

    @cached_property
    def _lookup(self) -> CheckLookup:
        return CheckLookup(self.context)

    def _input_version(self, name: str) -> str:
        """Version of an input that has no hours; of others Dagster looks at their events."""
        if name not in self._input_versions:
            asset = next((asset for asset in self.assets if asset.name == name and not asset.is_hourly), None)
            held = asset.held(self.context.lake, None) if asset else None
            self._input_versions[name] = held.version if held else DEFAULT_DATA_VERSION.value
        return self._input_versions[name]

    def of(self, asset: StoredAsset, computed: Collection[str] = ()) -> Iterator[dg.AssetMaterialization]:
        """What an asset holds and Dagster does not know, and what was `computed` now, an hour each.

        An hour that is still to be computed, or is blocked and was never good, is left out: it is missing.
        """
        if not asset.is_hourly:
            held = asset.held(self.context.lake, None) or (_EMPTY if self._is_empty(asset, ()) else None)
            if held is not None and (computed or self._reported_version(asset) != held.version):
                yield self._materialization(asset, None, held, is_newest=True)
            return
        reported = self._reported_versions(asset)
        known = self._known_hours(asset)
        new = [hour for hour in known if hour in computed or reported.get(hour) != known[hour].version]
        new.sort(key=lambda hour: (known[hour].rows > 0, hour))  # the newest with rows is shown first
        for hour in new:
            yield self._materialization(asset, hour, known[hour], is_newest=hour == new[-1])

    def _known_hours(self, asset: StoredAsset) -> dict[str, AssetContent]:
        found = {hour: asset.held(self.context.lake, hour) for hour in self.hours}
        return {
            hour: held or _EMPTY for hour, held in found.items() if held or self._is_empty(asset, (hour, day_of(hour)))
        }

    def _is_empty(self, asset: StoredAsset, partitions: Sequence[str]) -> bool:
        """Whether a table that has no part (of some partitions) has all that it will: nothing calls for one.

        As long as something that it is made from is still to be computed, that cannot be known.
        """
        called = self._called(asset)
        is_called = not called.isdisjoint(partitions) if partitions else bool(called)
        return not is_called and self._upstream(asset.name).isdisjoint(self._unsettled)

    @cached_property
    def _unsettled(self) -> set[str]:
        """Tables with hours that are called for and have no part."""
        hourly = [asset for asset in self.assets if asset.is_hourly]
        lake = self.context.lake
        return {
            asset.name
            for asset in hourly
            if any(is_hour(hour) and asset.held(lake, hour) is None for hour in self._called(asset))
        }

    def _called(self, asset: StoredAsset) -> set[str]:
        if asset.name not in self._called_by_name:
            self._called_by_name[asset.name] = asset.called(self.context)
        return self._called_by_name[asset.name]

    def _upstream(self, name: str) -> set[str]:
        deps = self._deps.get(name, ())
        return set(deps).union(*(self._upstream(dep) for dep in deps))

    def check_of(self, asset: StoredAsset, check: AssetCheck) -> dg.AssetCheckResult:
        """What the check of an asset finds now."""
        failures = check.find(self._lookup, asset.name)
        reasons = {failure.what: failure.reason for failure in failures[:_LISTED]}
        return dg.AssetCheckResult(
            asset_key=asset.name,
            check_name=check.name,
            passed=not failures,
            severity=dg.AssetCheckSeverity.WARN if check.is_warning else dg.AssetCheckSeverity.ERROR,
            description=_sentence(failures),
            metadata={"failures": len(failures)} | ({"reasons": reasons} if reasons else {}),
        )

    def _materialization(
        self, asset: StoredAsset, hour: str | None, held: AssetContent, *, is_newest: bool
    ) -> dg.AssetMaterialization:
        """The lineage of columns is shown of the newest event alone, and is kilobytes long."""
        self.emitted += 1
        return dg.AssetMaterialization(
            asset_key=asset.name,
            partition=hour,
            metadata={
                "dagster/row_count": held.rows,
                "size_bytes": held.size_bytes,
                "headline": dg.MetadataValue.md(self._headline(asset)),
                **held.facts,  # Dagster draws numbers over time
                **self._report(asset),
                **(lineage_of(asset) if is_newest else {}),
            },
            tags=self._tags(asset, held),
        )

    def _report(self, asset: StoredAsset) -> dict[str, dg.MetadataValue[str | None]]:
        """The page that a run writes of what it published, where the settings name one."""
        page = self.context.settings.report_path if asset.name == DATABASE else None
        return {} if page is None else {"report": dg.MetadataValue.path(str(page.absolute()))}

    def _tags(self, asset: StoredAsset, held: AssetContent) -> dict[str, str]:
        """The version, and the event and version of each input, by which Dagster sees what is stale."""
        tags = {DATA_VERSION_TAG: held.version, DATA_VERSION_IS_USER_PROVIDED_TAG: "true"}
        tags[CODE_VERSION_TAG] = asset.code_version or "none"
        for name in asset.deps:
            key = dg.AssetKey(name)
            tags[get_input_data_version_tag(key)] = self._input_version(name)
            tags[get_input_event_pointer_tag(key)] = str(self._newest_event + self.emitted)
        return tags

    def _headline(self, asset: StoredAsset) -> str:
        if asset.name not in self._headlines:
            self._headlines[asset.name] = self._write_headline(asset)
        return self._headlines[asset.name]

    def _write_headline(self, asset: StoredAsset) -> str:
        held = asset.held(self.context.lake, None) or _EMPTY
        if held.headline:
            return held.headline
        blocked = len(self._lookup.blocked.of_table(asset.name))
        found = ((hour, asset.held(self.context.lake, hour)) for hour in self.hours if asset.is_hourly)
        filled = [hour for hour, of_hour in found if of_hour and of_hour.rows]
        where = f" in {len(filled)} hour(s), the newest {filled[-1]}" if filled else ""
        return f"**{held.rows:,}** rows{where}" + (f"; {blocked} partition(s) blocked" if blocked else "")

    def _reported_versions(self, asset: StoredAsset) -> dict[str, str]:
        storage = self.instance.event_log_storage
        event = dg.DagsterEventType.ASSET_MATERIALIZATION
        found = storage.get_latest_tags_by_partition(dg.AssetKey(asset.name), event, [DATA_VERSION_TAG])
        return {hour: tags[DATA_VERSION_TAG] for hour, tags in found.items() if DATA_VERSION_TAG in tags}

    def _reported_version(self, asset: StoredAsset) -> str | None:
        newest = self.instance.get_latest_materialization_event(dg.AssetKey(asset.name))
        materialization = newest.asset_materialization if newest else None
        return (materialization.tags or {}).get(DATA_VERSION_TAG) if materialization else None


def _sentence(failures: Sequence[CheckFailure]) -> str:
    if not failures:
        return "Nothing fails it."
    first = failures[0]
    others = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
    return f"{first.what}: {first.reason}{others}"
