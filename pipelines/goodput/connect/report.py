"""What `goodput connect` found, put together: plain data for tables and for JSON."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from goodput.connect.fields import Emitter, emitters
from goodput.connect.look import Looked, look
from goodput.connect.paste import settings_text
from goodput.connect.unread import Attribute, SpanGroup
from goodput.join.doubles import Double, doubles
from goodput.settings.lake_address import named
from goodput.settings.model import Settings

LAYERS = ("client", "gateway", "engine")
# Tables beside serving records: what they are called, and what is not known without them.
_BESIDE: Mapping[str, tuple[str, str]] = {
    "sample_records": (
        "engine metrics",
        "coverage, KV utilisation and preemptions stay NULL: land /metrics of the engines",
    ),
    "label_records": (
        "quality labels",
        "goodput is latency_constrained: land gen_ai.evaluation.result events or exports of scores",
    ),
    "event_records": (
        "operations",
        "disruptions stay empty: land deployments and Kubernetes events",
    ),
    "cost_lines": (
        "bills and prices",
        "cost stays NULL unless [rates] says what a GPU hour costs: land FOCUS, OpenCost or a price list",
    ),
}
_WITHOUT: Mapping[str, str] = {
    "client": "what the user waited is known only as the gateway or engine saw it",
    "gateway": "tries and what failed before an engine are known only as the client saw them",
    "engine": "queue, prefill and decode times stay NULL, and the replica unless another layer names it",
}


@dataclass(frozen=True)
class ConnectReport:
    """All findings. `beside`: what there is of every other table, rows and dialects, or what its absence means."""

    looked: Looked
    emitters: list[Emitter]
    layers: dict[str, tuple[int, str]]
    beside: dict[str, tuple[int, str]]
    doubles: list[Double]
    calls: list[tuple[SpanGroup, str]]
    settings: str

    def data(self) -> dict[str, object]:
        """The findings as JSON holds them."""
        looked = self.looked
        return {
            "files": [
                {
                    "path": file.path,
                    "reader": file.reader,
                    "rows": file.rows,
                    "kept": dict(file.kept),
                    "ignored": dict(file.ignored),
                    "quarantined": dict(file.refused),
                    "remark": file.remark,
                    "is_sample": file.is_sample,
                }
                for file in looked.files
            ],
            "files_there": looked.files_there,
            "is_sample": looked.is_sample,
            "copies": looked.copies,
            "emitters": [
                {
                    **{name: getattr(one, name) for name in ("dialect", "scope", "version", "layer", "records")},
                    "models": list(one.models),
                    "shares": dict(one.shares),
                    "missing": [
                        {"fact": m.fact, "share": m.share, "why": m.why, "candidates": list(m.candidates)}
                        for m in one.missing
                    ],
                }
                for one in self.emitters
            ],
            "layers": {name: {"records": count, "without": why} for name, (count, why) in self.layers.items()},
            "beside": {name: {"rows": count, "remark": remark} for name, (count, remark) in self.beside.items()},
            "doubles": [double.__dict__ for double in self.doubles],
            "unread_calls": [
                {
                    **{name: getattr(group, name) for name in ("scope", "name", "kind", "spans")},
                    "beside": beside or None,
                    "attributes": [_attribute(one) for one in group.attributes.values()],
                }
                for group, beside in self.calls
            ],
            "other_spans": looked.unread.others,
            "unread_events": dict(looked.unread.events),
            "unread_objects": {
                "rows": looked.unread.objects_unread,
                "attributes": [_attribute(one) for one in looked.unread.object_keys.values()],
            },
            "unknown_metrics": looked.unread.unknown_metrics,
            "settings": self.settings,
        }


def report(settings: Settings, target: Path) -> ConnectReport:
    """Look at a file, a folder or objects with these settings. Raises LandingMissing, ExtraMissing, StoreFailed."""
    landing = named(target)
    looked = look(settings.model_copy(update={"landing": (landing,)}))
    found = emitters(looked, settings.attributes)
    counts = Counter({str(layer): count for layer, count in looked.records.group_by("layer").len().iter_rows()})
    return ConnectReport(
        looked=looked,
        emitters=found,
        layers={layer: (counts[layer], "" if counts[layer] else _WITHOUT[layer]) for layer in LAYERS},
        beside={name: _beside(looked, table, without) for table, (name, without) in _BESIDE.items()},
        doubles=doubles(looked.records),
        calls=looked.unread.calls(),
        settings=settings_text(looked, found, landing, settings.attributes),
    )


def _beside(looked: Looked, table: str, without: str) -> tuple[int, str]:
    there = {dialect: count for (name, dialect), count in looked.others.items() if name == table}
    return sum(there.values()), ", ".join(sorted(there)) if there else without


def _attribute(one: Attribute) -> dict[str, object]:
    return {
        "name": one.name,
        "rows": one.rows,
        "types": dict(one.types),
        "distinct_values": len(one.values),
        "hashes": sorted(one.values)[:3],
    }
