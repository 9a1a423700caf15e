"""Kubernetes events: both forms of the API, bare, listed or watched, and log records of the Collector's two receivers.

An event is changed in place: its uid stays, its count and last time move. Only what is plain is taken for an operation;
of a rollout that is each step of its replica sets, of a restart what the kubelet says of the container.
"""

from dataclasses import replace

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore
from goodput.collect.dialects.instants import iso_ns
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.row_id import row_ids

_LAST = ("series.lastObservedTime", "lastTimestamp", "deprecatedLastTimestamp", "eventTime")
_FIRST = ("firstTimestamp", "deprecatedFirstTimestamp", "metadata.creationTimestamp")
_COUNT = ("series.count", "count", "deprecatedCount")
_PATHS_OF = {
    "id": ("metadata.uid",),
    "reason": ("reason",),
    "message": ("message", "note"),
    "object_kind": ("involvedObject.kind", "regarding.kind"),
    "object_name": ("involvedObject.name", "regarding.name"),
    "object_uid": ("involvedObject.uid", "regarding.uid"),
    "last": (*_LAST, *_FIRST),
}
# What generated names are made of: a replica set's hash and a pod's suffix.
_WORD = "[bcdfghjklmnpqrstvwxz2456789]"
_OF_DEPLOYMENT = rf"^(.+)-{_WORD}{{5,10}}-{_WORD}{{5}}$"
_OF_STATEFUL_SET = r"^(.+)-\d+$"
_OF_REPLICA_SET = rf"^(.+)-{_WORD}{{5,10}}$"
_SCALED = r"^Scaled (up|down) replica set (\S+)"
_FROM = r"from (\d+)"
_LOST = ("Evicted", "Preempted", "OOMKilling")


def kind_of(reason: pl.Expr, message: pl.Expr, count: pl.Expr) -> pl.Expr:
    """What an event says was done; NULL where it says nothing that counts.

    A replica set that comes up from none is a new revision; messages that do not say from how many only scale.
    """
    way = pl.when(reason == "ScalingReplicaSet").then(message.str.extract(_SCALED, 1))
    again = (
        ((reason == "Killing") & message.str.contains("will be restarted"))
        | ((reason == "BackOff") & message.str.contains("restarting failed container"))
        | ((reason == "Started") & (count > 1))
    )
    return (
        pl.when((way == "up") & (message.str.extract(_FROM, 1) == "0"))
        .then(pl.lit("deployment"))
        .when(way == "up")
        .then(pl.lit("scale_out"))
        .when(way == "down")
        .then(pl.lit("scale_in"))
        .when(again)
        .then(pl.lit("restart"))
        .when(reason.is_in(_LOST))
        .then(pl.lit("incident"))
    )


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of event_records from id, reason, message, occurrences, object_kind/_name/_uid and occurred_ns."""
    kind, name = pl.col("object_kind"), pl.col("object_name")
    of_pod = pl.coalesce(name.str.extract(_OF_DEPLOYMENT, 1), name.str.extract(_OF_STATEFUL_SET, 1), name)
    records = frame.with_columns(
        event_id=pl.concat_str(pl.lit("k8s"), "id", separator="/"),
        kind=kind_of(pl.col("reason"), pl.col("message"), pl.col("occurrences")),
        revised_ns=pl.col("occurred_ns"),
        subject=name,
        pool=pl.when(kind == "Pod")
        .then(of_pod)
        .when(kind == "ReplicaSet")
        .then(pl.coalesce(name.str.extract(_OF_REPLICA_SET, 1), name))
        .when(kind.is_in(["Deployment", "StatefulSet"]))
        .then(name),
        replica=pl.when(kind == "Pod").then(pl.coalesce("object_name", "object_uid")),
        revision=pl.when(pl.col("reason") == "ScalingReplicaSet").then(pl.col("message").str.extract(_SCALED, 2)),
        detail=pl.concat_str("reason", "message", separator=": ", ignore_nulls=True),
    )
    return records.with_columns(record_id=row_ids(records.select("event_id", "occurred_ns", "occurrences", "detail")))


def _paths(within: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{within}{name}" for name in names)


def _json(within: str, name: str, listed: str | None = None) -> Dialect:
    """The dialect of events that stand at a path of each object."""
    fields = tuple(Field(canonical, "string", _paths(within, names)) for canonical, names in _PATHS_OF.items())
    count = pl.coalesce(_paths(within, _COUNT))
    message = pl.coalesce(_paths(within, _PATHS_OF["message"]))
    operation = kind_of(pl.col(f"{within}reason"), message, count)
    shown = [f"{within}metadata.uid", f"{within}reason", *_paths(within, _PATHS_OF["object_kind"])]
    return Dialect(
        name=name,
        table="event_records",
        matches=pl.all_horizontal(pl.col(shown[:2]).is_not_null()) & pl.any_horizontal(pl.col(shown[2:]).is_not_null()),
        fields=(*fields, Field("occurrences", "int", _paths(within, _COUNT))),
        finish=lambda frame: _finish(frame.with_columns(occurred_ns=iso_ns("last"))),
        signature=tuple(Wanted(path, "string") for path in shown),
        ignored=(Ignore("event_is_no_operation", operation.is_null()),),
        rows=listed,
    )


KUBERNETES = _json("$.", "kubernetes")
KUBERNETES_LIST = replace(KUBERNETES, rows="$.items")
KUBERNETES_WATCH = _json("$.object.", "kubernetes")

_REASON, _RECEIVED = "k8s.event.reason", "k8s.event.uid"
_OF_OBJECT = ("resource.k8s.object.kind", "resource.k8s.object.name", "resource.k8s.object.uid")
EVENTS_RECEIVER = Dialect(
    name="k8seventsreceiver",
    table="event_records",
    matches=pl.col(_RECEIVED).is_not_null(),
    fields=(
        Field("id", "string", (_RECEIVED,)),
        Field("reason", "string", (_REASON,)),
        Field("occurrences", "int", ("k8s.event.count",)),
        Field("object_kind", "string", _OF_OBJECT[:1]),
        Field("object_name", "string", _OF_OBJECT[1:2]),
        Field("object_uid", "string", _OF_OBJECT[2:]),
    ),
    finish=lambda frame: _finish(frame.with_columns(message=pl.col("body_text"), occurred_ns=pl.col("time_ns"))),
    ignored=(
        Ignore(
            "event_is_no_operation",
            kind_of(pl.col(_REASON), pl.col("body_text"), pl.col("k8s.event.count")).is_null(),
        ),
    ),
)


def _in_body(names: tuple[str, ...]) -> pl.Expr:
    """The first of some paths of an event in a log record's body: the event itself (pulled) or around it (watched)."""
    paths = [f"$.{within}{name}" for within in ("object.", "") for name in names]
    return pl.coalesce(pl.col("body_map").str.json_path_match(path) for path in paths)


def _from_body(frame: pl.DataFrame) -> pl.DataFrame:
    stated = {canonical: _in_body(names) for canonical, names in _PATHS_OF.items()}
    read = frame.with_columns(**stated, occurrences=_in_body(_COUNT).cast(pl.Int64, strict=False))
    return _finish(read.with_columns(occurred_ns=pl.coalesce(iso_ns("last"), "time_ns")))


OBJECTS_RECEIVER = Dialect(
    name="k8sobjectsreceiver",
    table="event_records",
    matches=(pl.col("k8s.resource.name") == "events") & pl.col("body_map").is_not_null(),
    fields=(),
    finish=_from_body,
    also_wanted=(Wanted("k8s.resource.name", "string"),),
    ignored=(
        Ignore(
            "event_is_no_operation",
            kind_of(
                _in_body(_PATHS_OF["reason"]),
                _in_body(_PATHS_OF["message"]),
                _in_body(_COUNT).cast(pl.Int64, strict=False),
            ).is_null(),
        ),
    ),
)
