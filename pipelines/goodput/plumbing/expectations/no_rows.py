"""The expectation that a query finds no rows, which asks for the rows only where they are to be shown.

Importing this imports Great Expectations, which takes seconds: only a call may do so.
"""

from typing import Any

from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.expectations.core.unexpected_rows_expectation import UnexpectedRowsExpectation
from great_expectations.validator.validator import ValidationDependencies

_ROWS = "unexpected_rows_query.table"


class ExpectNoRows(UnexpectedRowsExpectation):
    """Great Expectations' own runs its query twice, once for the count and once for the rows, whatever is asked."""

    def get_validation_dependencies(
        self, execution_engine: ExecutionEngine[Any] | None = None, runtime_configuration: dict[str, Any] | None = None
    ) -> ValidationDependencies:
        """What has to be computed; of a mere verdict no row is a part."""
        needed = super().get_validation_dependencies(execution_engine, runtime_configuration)
        if needed.result_format["result_format"] == "BOOLEAN_ONLY":
            needed.remove_metric_configuration(_ROWS)
        return needed

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: ExecutionEngine[Any] | None = None,
    ) -> Any:
        return super()._validate({_ROWS: [], **metrics}, runtime_configuration, execution_engine)
