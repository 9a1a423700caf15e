"""Writes a report as one HTML file that needs nothing else: data, drawing code and styles lie in it.

What a chart shows is `charts`' matter; what the browser does with a choice is assets/page.js.
"""

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from typing import Any

import altair as alt
import jinja2
import polars as pl

from goodput.plumbing.sql_files import sql_file
from goodput.report.assets import asset
from goodput.report.chart import DIGITS, Chart
from goodput.report.gather import INNER, Gathered, instant_ms
from goodput.report.looks import VEGA_LITE, config
from goodput.report.tiles import tiles


@dataclass(frozen=True)
class Live:
    """Of a page that is served: the generation of the database that it shows, and how often it asks for a newer one."""

    generation: str
    ask_every_s: float


def html(gathered: Gathered, charts: Sequence[Chart], head: Mapping[str, str], live: Live | None = None) -> str:
    """The page. `head` has its title and the lines below it; what is `live` leads on to requests and alarms."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(asset("page.html")).render(
        head=head,
        live=live,
        charts=charts,
        style=style(),
        scripts=_scripts(),
        licenses=asset("vega.LICENSES.txt"),
        policy=policy(is_live=live is not None),
        data=_packed(_data(gathered, charts)),
    )


def policy(*, is_live: bool) -> str:
    """What the page may load and run: what lies in it. Where it is live it may ask its server for more."""
    hashes = " ".join(digest(text) for text in _scripts())
    asking = "; connect-src 'self'; img-src 'self'" if is_live else ""
    return f"default-src 'none'; script-src {hashes}; style-src {digest(style())}; base-uri 'none'{asking}"


def style() -> str:
    """How the page looks."""
    return asset("page.css")


def _scripts() -> list[str]:
    return [asset("vega.js"), asset("page.js")]


def digest(text: str) -> str:
    """A script or a style as a policy names it."""
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def _packed(data: Mapping[str, Any]) -> str:
    """JSON, compressed, in letters that mean nothing to HTML."""
    written = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(written.encode(), mtime=0)).decode()


def _data(gathered: Gathered, charts: Sequence[Chart]) -> dict[str, Any]:
    return {
        "periods": [
            asdict(one) | {"from_at": instant_ms(one.from_at), "until_at": instant_ms(one.until_at)}
            for one in gathered.periods
        ],
        "slices": [asdict(one) | {"named": one.named()} for one in gathered.slices],
        "tiles": _tiles(gathered),
        "charts": [_chart(chart, gathered) for chart in charts],
        "inner": [{"name": name, "sql": _sql(name), "reads": _reads(name)} for name in INNER],
    }


def _tiles(gathered: Gathered) -> dict[str, list[dict[str, str]]]:
    rows = {(row["period"], row["choice"]): row for row in gathered.totals.to_dicts()}
    longest = min(gathered.periods, key=lambda one: one.from_at).period
    return {
        f"{period} {choice}": [
            asdict(tile) for tile in tiles(row, rows.get((longest, choice)) if period != longest else None)
        ]
        for (period, choice), row in rows.items()
    }


def _chart(chart: Chart, gathered: Gathered) -> dict[str, Any]:
    found = gathered.rows[chart.name]
    return {
        "name": chart.name,
        "chosen_by": list(chart.chosen_by),
        "none_is_all": chart.none_is_all,
        "also": list(chart.also),
        "leads_to": chart.leads_to,
        "draws": list(chart.draws),
        "empty": gathered.empties[chart.name],
        "columns": [asdict(column) for column in chart.columns],
        "sql": _sql(chart.name),
        "reads": _reads(chart.name),
        "rows": {name: _values(found[name]) for name in found.columns},
        "answers": {f"{period} {choice}": text for (period, choice), text in gathered.answers[chart.name].items()},
        "spec": None if chart.spec is None else drawn(chart),
    }


def _sql(name: str) -> str:
    """The query of a relation without its header."""
    return "\n".join(line for line in sql_file(name).text.splitlines() if not line.startswith("--"))


def _reads(name: str) -> list[str]:
    return sql_file(name).header["reads"].split(", ")


def _values(column: pl.Series) -> list[Any]:
    if column.dtype.is_float():
        finite = pl.when(column.is_finite()).then(column.round_sig_figs(DIGITS))
        return pl.select(finite).to_series().to_list()
    return column.to_list()


@cache
def drawn(chart: Chart) -> dict[str, Any]:
    """The chart as Vega draws it."""
    import vl_convert  # noqa: PLC0415  (large, and only a page needs it)

    assert chart.spec is not None  # noqa: S101
    described = chart.spec()
    as_wide = not isinstance(
        described, alt.FacetChart
    )  # the parts of a facet have widths of their own: page.js sets them
    whole = described.properties(width="container") if as_wide else described
    lite = whole.to_dict(validate=False)  # tests do, which takes as long as all the rest
    lite |= {"config": config()} | ({"autosize": {"type": "fit-x", "contains": "padding"}} if as_wide else {})
    found: dict[str, Any] = vl_convert.vegalite_to_vega(lite, vl_version=VEGA_LITE)
    return found
