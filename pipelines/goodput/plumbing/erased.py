"""Whom the lake has forgotten: digests of erased identities, so that files that are read again bring none back.

Only the list belongs here; `goodput.erase` has the rows forgotten, and the guard of `conform` keeps others out.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from goodput.plumbing.lake import Lake
from goodput.plumbing.noted import read_noted, write_noted

NOTED = "erased.json"
NAMED = "erased:"  # with this begin names that say nothing


@dataclass(frozen=True)
class Erased:
    """Digests of erased identities, made with a salt of the lake's own.

    `called`: what an identity is called in rows that stay, for as long as it takes to put that everywhere; then empty,
    and nobody finds the rows by the identity any more.
    """

    salt: str = ""
    called: Mapping[str, str] = field(default_factory=dict)

    def holds(self, identity: str) -> bool:
        """Whether it was erased."""
        return bool(self.called) and self._digest(identity) in self.called

    def with_names_for(self, identities: Iterable[str]) -> "Erased":
        """The same with names that say nothing for more identities; those that have one keep it."""
        salted = Erased(self.salt or secrets.token_hex(32), self.called)
        new = {digest: f"{NAMED}{secrets.token_hex(16)}" for digest in map(salted._digest, identities)}
        return Erased(salted.salt, {**salted.called, **{d: self.called.get(d) or name for d, name in new.items()}})

    def name_of(self, identity: str) -> str:
        """What an identity of `with_names_for` is called."""
        return self.called[self._digest(identity)]

    @property
    def without_names(self) -> "Erased":
        """The same once no name is needed any more."""
        return Erased(self.salt, dict.fromkeys(self.called, ""))

    def _digest(self, identity: str) -> str:
        return hmac.digest(self.salt.encode(), identity.encode(), hashlib.sha256).hex()


def read_erased(lake_root: Path) -> Erased:
    """Whom the lake in a folder has forgotten. Raises LakeUnreadable."""
    return read_noted(lake_root / NOTED, Erased)


def write_erased(lake: Lake, erased: Erased) -> None:
    """Note it. Raises LakeUnwritable."""
    write_noted(lake, NOTED, erased)
