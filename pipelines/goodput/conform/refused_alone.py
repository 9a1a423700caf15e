"""Makes of an error that nobody foresaw the refusal of the file at which it happened: no file must stop the others."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb

from goodput.errors import GoodputError, SourceRefused
from goodput.plumbing import interrupt


@contextmanager
def refused_alone(path: Path) -> Iterator[None]:
    """Raise SourceRefused for an error of its reader that nobody foresaw.

    Where it happened is reported, not what the error says: that may be what a user wrote.
    """
    try:
        yield
    except (GoodputError, OSError, MemoryError):
        raise
    except BaseException as error:  # a panic in Rust is no Exception
        interrupt.check(error)
        last = extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}, line {last.lineno}"
        raise SourceRefused(
            path, f"reading it broke at an error that nobody foresaw: {type(error).__name__} in {place}"
        ) from error
