"""Settings that change what numbers mean, as rows that users can ask and by which lakes are compared.

Gates have rows of their own (`gates`). What names things as telemetry has them, or says where they are, is not here.
"""

import json
from collections.abc import Iterable, Iterator

import polars as pl
import pyarrow as pa

from goodput.plumbing.parameters import PARAMETERS
from goodput.plumbing.pseudonyms import Pseudonyms
from goodput.settings.model import Settings, Workload


def setting_rows(settings: Settings) -> pa.Table:
    """One row per setting, by its key in goodput.toml; lists have a comma and a blank between their items.

    Identities are what the lake calls them. Raises SecretUnusable.
    """
    rows = [{"setting": name, "value": value} for name, value in _values(settings)]
    schema = PARAMETERS["settings"].schema
    # by way of Polars, as in `gate_rows`
    return pl.DataFrame(rows, schema=schema.names, orient="row").to_arrow().cast(schema)


def _values(given: Settings) -> Iterator[tuple[str, str]]:
    yield "windows_s", _listed(given.windows_s)
    yield "slices.by", _listed(given.slices.by)
    yield "slices.max_values", str(given.slices.max_values)
    yield "slices.max_names", str(given.slices.max_names)
    yield "latency_origin", given.latency_origin
    for name in ("max_request_lifetime_s", "max_session_s", "staleness_s"):
        yield name, f"{getattr(given, name):g}"
    yield "costs.step_s", str(given.costs.step_s)
    for currency, usd in sorted(given.costs.currencies.items()):
        yield f"costs.currencies.{currency}", f"{usd!r}"
    yield "work", json.dumps([work.model_dump() for work in given.work.values()])  # the first that matches counts
    called = Pseudonyms(given)
    for name, workload in given.workloads.items():
        yield f"workloads.{name}.match", json.dumps(_match(workload, called))
        if workload.quality is not None:
            yield f"workloads.{name}.quality.evaluators", _listed(sorted({*workload.quality.evaluators}))
            yield f"workloads.{name}.quality.pass_labels", _listed(sorted({*workload.quality.pass_labels}))


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


def _match(workload: Workload, called: Pseudonyms) -> dict[str, list[str]]:
    match = workload.match
    globs = {
        **{key: list(getattr(match, key)) for key in ("model", "route", "pool")},
        "tenant": called.of_globs(match.tenant),
        **{
            f"attributes.{key}": called.of_globs(of) if key in called.names else list(of)
            for key, of in match.attributes.items()
        },
    }
    return {key: sorted(of) for key, of in globs.items() if of}
