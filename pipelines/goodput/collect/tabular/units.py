"""Text to values by the unit or time format that the settings declare: NULL where the text is no such value.

Which column is read how is `canonical`'s decision.
"""

import polars as pl

from goodput.settings.columns import Kind
from goodput.settings.sources import MappedColumn

_EPOCH_DIGITS = {
    "epoch_s": 9,
    "epoch_ms": 6,
    "epoch_us": 3,
    "epoch_ns": 0,
}  # decimal places down to a nanosecond
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LAST_SECOND = 2**63 // 10**9 - 1  # of those that 64-bit nanoseconds can hold
_ISO_8601 = (
    r"^(?<date>\d{4}-\d\d-\d\d)[T ](?<minute>\d\d:\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d+))?)?"
    r" ?(?:(?<utc>[Zz])|(?<sign>[+-])(?<hours>\d\d):?(?<minutes>\d\d)?)?$"
)
_TRUTH = {
    **dict.fromkeys(("true", "1", "yes", "pass"), True),
    **dict.fromkeys(("false", "0", "no", "fail"), False),
}


def time_ns(text: pl.Expr, unit: str, tz: str) -> pl.Expr:
    """Unix nanoseconds, Int64. Exact for decimal text: no float comes between.

    `tz` is the zone of times that name none; one that its zone has twice, or never had, is NULL.
    """
    text = text.str.strip_chars()
    if unit in _EPOCH_DIGITS:
        return text.cast(pl.Decimal(38, _EPOCH_DIGITS[unit]), strict=False).to_physical().cast(pl.Int64, strict=False)
    return _iso8601_ns(text, tz) if unit == "iso8601" else _strptime_ns(text, unit, tz)


def per_second(unit: str) -> int:
    """How many of a unit of duration are a second."""
    return _PER_SECOND[unit]


def duration_s(text: pl.Expr, unit: str) -> pl.Expr:
    """Seconds, Float64. NaN, infinite and negative ones stay what they are: the contract judges them."""
    return text.str.strip_chars().cast(pl.Float64, strict=False) / per_second(unit)


def plain(text: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """A value without unit: a whole number may be written "100.0", a truth value in several words."""
    if dtype == pl.String:
        return text
    text = text.str.strip_chars()
    if dtype == pl.Boolean:
        return text.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)
    if dtype.is_integer():
        number = text.cast(pl.Float64, strict=False)
        whole = pl.when((number == number.round()) & (number.abs() <= 2**53)).then(number)
        return pl.coalesce(text.cast(pl.Int64, strict=False), whole.cast(pl.Int64, strict=False)).cast(
            dtype, strict=False
        )
    return text.cast(dtype, strict=False)


def expected(kind: Kind, mapped: MappedColumn, dtype: pl.DataType) -> str:
    """What a cell should have been, for the reason of its refusal."""
    if kind == "duration":
        return f"a number of {mapped.unit}"
    if kind == "time":
        named = mapped.unit in _EPOCH_DIGITS or mapped.tz == "UTC"
        return f"a time as {mapped.unit}" + ("" if named else f" that {mapped.tz} has exactly once")
    if dtype == pl.Boolean:
        return f"one of {', '.join(_TRUTH)}"
    return "a whole number" if dtype.is_integer() else "a number"


def _iso8601_ns(text: pl.Expr, tz: str) -> pl.Expr:
    parts = text.str.extract_groups(_ISO_8601)

    def part(name: str, default: str) -> pl.Expr:
        return parts.struct.field(name).fill_null(default)

    clock = pl.concat_str(
        parts.struct.field("date"), pl.lit(" "), part("minute", ""), pl.lit(":"), part("second", "00")
    )
    local = clock.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
    fraction = (part("fraction", "") + pl.lit("0" * 9)).str.slice(0, 9).cast(pl.Int64)
    offset_s = part("hours", "0").cast(pl.Int64) * 3600 + part("minutes", "0").cast(pl.Int64) * 60
    east_s = pl.when(parts.struct.field("sign") == "-").then(-offset_s).otherwise(offset_s)
    named = parts.struct.field("utc").is_not_null() | parts.struct.field("sign").is_not_null()
    second = pl.when(named).then(local.dt.epoch("s") - east_s).otherwise(_in_zone(local, tz).dt.epoch("s"))
    return pl.when(second.abs() <= _LAST_SECOND).then(second * 10**9 + fraction)


def _strptime_ns(text: pl.Expr, unit: str, tz: str) -> pl.Expr:
    """Python's format words, a fraction of up to 9 digits and Z as an offset allowed."""
    if ",%f" in unit:
        text, unit = text.str.replace(r",(\d+)", ".${1}"), unit.replace(",%f", ".%f")
    chrono = unit.replace(".%f", "%.f").replace("%f", "%6f").replace("%z", "%#z")

    def read(precision: pl._typing.TimeUnit) -> pl.Expr:
        local = text.str.to_datetime(chrono, time_unit=precision, strict=False)
        return local if "%z" in unit else _in_zone(local, tz)

    # nanoseconds wrap silently where 64 bits do not reach; microseconds show it
    return pl.when(read("us").dt.epoch("s").abs() <= _LAST_SECOND).then(read("ns").dt.epoch("ns"))


def _in_zone(local: pl.Expr, tz: str) -> pl.Expr:
    return local.dt.replace_time_zone(tz, ambiguous="null", non_existent="null")
