"""Which HTTP requests ask a model to generate, by the routes of the APIs that gateways and engines share."""

import polars as pl

_GENERATING = (
    r"/completions$|(^|/v1)/(responses|messages)$|:(g|streamG)enerateContent$"
    r"|(^|://[^/]+)/generate(_stream)?$"  # of SGLang and of text-generation-inference themselves
)


def asks_to_generate(path: pl.Expr, method: pl.Expr) -> pl.Expr:
    """Whether a request with this path, or route template, and method is one: any other path and GET are not."""
    return path.str.replace(r"\?.*$", "").str.contains(_GENERATING) & (method.is_null() | (method == "POST"))
