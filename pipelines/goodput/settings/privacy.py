"""[privacy] of goodput.toml: what of telemetry the lake keeps, and what only as a pseudonym, or not at all."""

from typing import Literal, Self

from pydantic import Field, model_validator

from goodput.globs import WILD
from goodput.settings.secret import WHERE, Secret
from goodput.settings.settings_model import Names, SettingsModel, Unusable


class Privacy(SettingsModel):
    """Whether identities of users, tenants and sessions are kept, and the text of rows that cannot be used.

    `also` names labels of metrics, tags of bills and kept attributes whose values are identities, beside those that
    `attributes.tenant` and `attributes.session_id` name.
    """

    identities: Literal["clear", "hashed", "dropped"] = "clear"
    identity_key: Secret | None = None
    also: Names = (
        *("end_user", "user", "user_id", "user_email", "user_alias", "team", "team_alias", "hashed_api_key"),
        *("api_key_alias", "customer", "customer_id", "tenant", "tenant_id", "session_id", "conversation_id"),
    )
    quarantine_text: bool = Field(default=False, strict=True)

    @model_validator(mode="after")
    def _key_where_it_is_needed(self) -> Self:
        if self.identities == "hashed" and self.identity_key is None:
            raise Unusable('identities = "hashed" needs identity_key', f"identity_key = {WHERE}")
        if self.identities != "clear" and self.quarantine_text:
            raise Unusable("quarantine_text keeps identities as they were received", "quarantine_text = false")
        return self


def unusable_match(privacy: Privacy, globs: Names) -> str | None:
    """Why a workload cannot match identities by some globs; None where it can."""
    if privacy.identities == "dropped" and globs:
        return 'no identity is kept: privacy.identities = "dropped"'
    wild = [glob for glob in globs if WILD & {*glob} and glob != "*"]
    if privacy.identities == "hashed" and wild:
        return f"{wild[0]!r} matches no pseudonym"
    return None
