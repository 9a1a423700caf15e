"""Keeps pandas out of processes that need none of it: pyarrow would import it to know its types."""

import sys

import pyarrow as pa


class _Absent:
    """Finds no pandas, so that importing it fails."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def leave_pandas_out() -> None:
    """Have pyarrow look for pandas, as it does once for a process, while there is none: half a second less.

    Whoever imports pandas later finds it, and so does pyarrow where it is asked for a pandas object.
    """
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _Absent)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(_Absent)
