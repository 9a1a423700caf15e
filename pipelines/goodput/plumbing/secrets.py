"""Reading secrets where the settings say that they are. They are never logged, stored or shown."""

import os
from pathlib import Path

from goodput.errors import SecretUnusable
from goodput.settings.secret import Secret

_LONGEST = 4096


def read_secret(key: str, secret: Secret, base: Path) -> str:
    """The secret that setting `key` names, a relative file below `base`. Raises SecretUnusable."""
    if secret.env is not None:
        text = os.environ.get(secret.env)
        if text is None:
            raise SecretUnusable(key, f"the environment has no variable {secret.env}")
    elif secret.file is not None:
        text = _in_file(key, base / secret.file)
    else:
        text = secret.clear or ""
    text = text.strip()
    if not text or len(text) > _LONGEST or not text.isascii() or not text.isprintable():
        raise SecretUnusable(key, "is no single line of printable ASCII")
    return text


def _in_file(key: str, path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as handle:
            return handle.read(_LONGEST + 2)
    except (OSError, UnicodeDecodeError) as error:
        raise SecretUnusable(key, f"{path} cannot be read: {error}") from error
