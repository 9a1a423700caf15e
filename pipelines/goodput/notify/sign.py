"""Signatures of Standard Webhooks 1.0.0: the receiver can verify who sent a body, and that it is not an old one."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence

from goodput.errors import SecretUnusable

PREFIX = "whsec_"
_KEY_BYTES = range(24, 65)


def signed_headers(delivery_id: str, sent_at_s: int, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Headers webhook-id, -timestamp and, with secrets, -signature: one signature by each, so that they can rotate.

    Raises SecretUnusable.
    """
    headers = {"webhook-id": delivery_id, "webhook-timestamp": str(sent_at_s)}
    signed = f"{delivery_id}.{sent_at_s}.".encode() + body
    signatures = [hmac.digest(_key(secret), signed, hashlib.sha256) for secret in secrets]
    if signatures:
        headers["webhook-signature"] = " ".join(f"v1,{base64.b64encode(one).decode()}" for one in signatures)
    return headers


def _key(secret: str) -> bytes:
    encoded = secret.removeprefix(PREFIX)
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or len(key) not in _KEY_BYTES:
        raise SecretUnusable(
            "signing_secrets", "no Standard Webhooks secret: whsec_ and the base64 of 24 to 64 random bytes"
        )
    return key
