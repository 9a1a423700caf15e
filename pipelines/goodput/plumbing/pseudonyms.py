"""Pseudonyms of identities: the same for the same identity and key, and nobody's once the key is gone."""

import hashlib
import hmac
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from goodput.errors import SecretUnusable
from goodput.plumbing.erased import NAMED, Erased
from goodput.plumbing.secrets import read_secret
from goodput.settings.model import Settings

DROPPED = "(dropped)"
_LEAST_KEY = 16
_PSEUDONYM = re.compile(r"id:[0-9a-f]{32}")
_ERASED = re.compile(rf"{NAMED}[0-9a-f]{{32}}")
_CHECK = "goodput"  # whose pseudonym tells one key from another, and nothing of either


@dataclass(frozen=True)
class Pseudonyms:
    """What identities become: by the settings themselves, pseudonyms by HMAC-SHA256 or nothing; erased ones nothing."""

    settings: Settings = field(default_factory=Settings)
    erased: Erased = field(default_factory=Erased)

    @property
    def are_clear(self) -> bool:
        """Whether the settings leave identities as they are."""
        return self.settings.privacy.identities == "clear"

    @property
    def keep_all(self) -> bool:
        """Whether each identity stays as it is."""
        return self.are_clear and not self.erased.called

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of labels, tags and attributes whose values are identities."""
        given = self.settings
        attributes = (*given.attributes.tenant, *given.attributes.session_id, *given.costs.tenant_tags)
        return frozenset({*given.privacy.also, *attributes})

    @cached_property
    def _key(self) -> bytes:
        secret = self.settings.privacy.identity_key
        if secret is None:
            return b""
        key = read_secret("privacy.identity_key", secret, self.settings.base)
        if len(key) < _LEAST_KEY:
            raise SecretUnusable("privacy.identity_key", f"is shorter than {_LEAST_KEY} characters")
        return key.encode()

    def of(self, identity: str) -> str | None:
        """What an identity is called; None where none is kept. What is a pseudonym already stays.

        Raises SecretUnusable.
        """
        called = self._by_settings(identity)
        is_erased = self.erased.holds(identity) or (called is not None and self.erased.holds(called))
        return None if is_erased else called

    def _by_settings(self, identity: str) -> str | None:
        match self.settings.privacy.identities:
            case "clear":
                return identity
            case "dropped":
                return None
        if _PSEUDONYM.fullmatch(identity):  # labels come back under the names that were given out
            return identity
        return f"id:{self._digest(identity)}"

    def of_kept(self, identity: str, *, by_another_key: bool = False) -> str | None:
        """What an identity that the lake holds is called by the settings; names that say nothing stay.

        `by_another_key`: pseudonyms are hashed once more, so that who has the earlier key finds nobody by them.
        """
        if identity == DROPPED or _ERASED.fullmatch(identity):
            return identity
        if by_another_key and self._key and _PSEUDONYM.fullmatch(identity):
            return f"id:{self._digest(identity)}"
        return self._by_settings(identity)

    def of_hash(self, digest: str) -> str:
        """A digest of what held an identity, so that nobody finds that one by trying all."""
        return self._digest(digest) if self._key else hashlib.sha256(digest.encode()).hexdigest()[:32]

    def of_members(self, text: str) -> str:
        """A JSON object with what the values of its members that are identities are called."""
        members = json.loads(text)
        if not self.names & members.keys():
            return text
        called = {name: self.of(str(value)) if name in self.names else value for name, value in members.items()}
        kept = {name: value for name, value in called.items() if value is not None}
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))

    def of_globs(self, globs: Iterable[str]) -> list[str]:
        """Globs that match what the identities that these match are called."""
        return [glob if glob == "*" else self.of(glob) or DROPPED for glob in globs]

    def reading(self) -> list[object]:
        """What decides how identities are read: part of which source a file is. Raises SecretUnusable."""
        if self.are_clear:
            return []
        return [self.settings.privacy.identities, sorted(self.names), self.key_check]

    @property
    def key_check(self) -> str | None:
        """Tells one key from another, and nothing of either; None without one in use. Raises SecretUnusable."""
        return self._by_settings(_CHECK) if self.settings.privacy.identities == "hashed" else None

    def _digest(self, text: str) -> str:
        return hmac.digest(self._key, text.encode(), hashlib.sha256).hex()[:32]
