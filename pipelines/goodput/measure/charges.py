"""Which hours of `cost_ledger` have to be computed again, from which parts, and computing them.

The arithmetic is in sql/, what the settings say of it in `ledger`.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import ClassVar

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from goodput.join.whole import CELL
from goodput.measure.joined_hours import JoinedHours
from goodput.measure.ledger import RELATIONS, TABLE, charge, ledger_window_s
from goodput.plumbing.candidates import write_candidates
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import HOUR_NS, epoch_hour, hour_label, neighbours
from goodput.plumbing.sql_files import connect, parquet, read_parts, sql_file

_WHOLE = ("cost_records", "token_prices")


@dataclass(frozen=True)
class ChargeInputs(JoinedHours):
    """Everything that hours of `cost_ledger` are computed from, as it lies in the lake now."""

    reads: ClassVar = ("attempts", "requests", "replica_samples")
    made: ClassVar = ("measured", (TABLE,))

    @cached_property
    def _rules(self) -> str:
        settings = self.join.settings
        told = settings.model_dump(mode="json", include={"rates", "work", "staleness_s"})
        texts = [sql_file(name).text for name in ("macros", *RELATIONS)]
        return fingerprint(told, ledger_window_s(settings), self.join.reach, texts, str(contract(TABLE)))

    def near(self, hours: Collection[str]) -> dict[str, set[str]]:
        """Hours of each table that `hours` are computed from: what lies in them, and who was up at their edges."""
        reach, wanted = self.join.reach, set(hours)
        return {
            "attempts": neighbours(wanted, 1, reach + 1),
            "requests": neighbours(wanted, 0, reach),
            "replica_samples": neighbours(wanted, 1, 2),
        }

    def whole(self, table: str) -> list[str]:
        """The part of a table that has no hours, if it is there."""
        path = self.lake.part("joined", table, CELL)
        return [str(path)] if path.exists() else []

    @cached_property
    def _costs(self) -> dict[str, int]:
        """A hash of the cost records that overlap each hour of observed telemetry."""
        first_ns, last_ns = self.join.observed
        with connect() as connection:
            read_parts(connection, "cost_records", self.whole("cost_records"), arrow_schema("cost_records"))
            rows = connection.execute(
                """
                SELECT hour, bit_xor(told) FROM (
                    SELECT
                        hash(cost_id, basis, replica, pool, model, period_start, period_end, amount_usd, gpu_s) AS told,
                        unnest(range(
                            greatest(epoch_us(period_start) // 3600000000, $first),
                            least(greatest(epoch_us(period_end) - 1, epoch_us(period_start)) // 3600000000, $last) + 1
                        )) AS hour
                    FROM cost_records
                ) GROUP BY hour
                """,
                {"first": first_ns // HOUR_NS, "last": last_ns // HOUR_NS},
            ).fetchall()
        return {hour_label(hour): told for hour, told in rows}

    @cached_property
    def _prices(self) -> tuple[list[datetime], list[str]]:
        """When prices changed, and a fingerprint of all prices before the first change, the second, and so on."""
        found = self.whole("token_prices")
        table = pq.read_table(found[0]) if found else arrow_schema("token_prices").empty_table()
        rows = pl.DataFrame(table).drop("source", "line", "source_hash").sort("model", "valid_from")
        changes = sorted(rows["valid_from"].unique())
        told = [fingerprint([])]
        for until in [*changes[1:], datetime.max.replace(tzinfo=UTC)] if changes else []:
            past = rows.filter(pl.col("valid_from") < until)
            ended = pl.when(pl.col("valid_to") < until).then("valid_to")
            told.append(fingerprint(past.with_columns(valid_to=ended).to_dicts()))
        return changes, told

    def of_hour(self, hour: str) -> str:
        """Fingerprint of what the part of `hour` must be made from."""
        changes, prices = self._prices
        end = datetime.fromtimestamp((epoch_hour(hour) + 1) * 3600, UTC)
        return fingerprint(self._rules, self.used([hour]), self._costs.get(hour), prices[bisect_left(changes, end)])

    def hours(self) -> set[str]:
        """Hours that have a ledger: those with telemetry, and those between with cost records."""
        served = neighbours(self.parts["attempts"], self.join.reach, 0)
        return served | set(self.parts["replica_samples"]) | set(self._costs)


def charge_hours(inputs: ChargeInputs, hours: Sequence[str]) -> int:
    """Write candidate parts of `cost_ledger` for `hours`; how many rows they have."""
    columns = ", ".join(f'"{column.name}"' for column in contract(TABLE).columns)
    with connect() as connection:
        attempts = inputs.files("attempts", hours)
        if attempts:
            connection.execute(
                "CREATE TEMP VIEW attempts AS SELECT *, "  # noqa: S608  (paths of the lake)
                "epoch_us(strptime(regexp_extract(filename, 'hour=([0-9T-]+)', 1), '%Y-%m-%dT%H')) // 3600000000 "
                f"AS part_hour FROM {parquet(attempts, named=True)}"
            )
        else:
            empty = arrow_schema("attempts").append(pa.field("part_hour", pa.int64())).empty_table()
            connection.register("attempts", empty)
        for table in ("requests", "replica_samples"):
            read_parts(connection, table, inputs.files(table, hours), arrow_schema(table))
        for table in _WHOLE:
            read_parts(connection, table, inputs.whole(table), arrow_schema(table))
        charge(connection, inputs.join.settings, hours, inputs.join.reach)
        rows = connection.sql(
            f"SELECT {columns}, epoch_hour AS hour FROM {TABLE} "  # noqa: S608  (identifiers of the contract)
            "ORDER BY window_start, bucket, replica, attempt_id, workload, model, pool, route, basis"
        ).to_arrow_table()
    shaped = rows.cast(arrow_schema(TABLE).append(rows.schema.field("hour")))
    return write_candidates(inputs.lake, TABLE, shaped, {hour: inputs.of_hour(hour) for hour in hours})
