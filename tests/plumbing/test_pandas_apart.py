"""pandas stays out of a run's process, and is there for whoever asks for it all the same."""

import subprocess
import sys

_ASKED = """
import sys
from goodput.plumbing.pandas_apart import leave_pandas_out
leave_pandas_out()
import pyarrow as pa
pa.array([1, 2]), pa.scalar("x"), pa.table({"a": [1.0]})
print("pandas" in sys.modules)
print(pa.table({"a": [1, 2]}).to_pandas()["a"].sum(), pa.table(__import__("pandas").DataFrame({"b": [3]})).num_rows)
"""


def test_values_become_arrow_without_pandas_which_is_there_when_asked_for() -> None:
    said = subprocess.run([sys.executable, "-c", _ASKED], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["False", "3", "1"]
