"""Sending one stored body over a channel, and what the answer means: delivered, to be tried again, or never.

A secret is read for each attempt and is in no message of an error, whatever the receiver makes of it; a body is sent
as it is stored.
"""

import json
import os
import sys
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from goodput.errors import SecretUnusable, TargetRefused
from goodput.notify.address import Resolver, look_up, shown, target
from goodput.notify.bodies import without_pictures
from goodput.notify.deadline import Deadline
from goodput.notify.echoed import plain_words, secrets_of_url
from goodput.notify.http import Answer, post
from goodput.notify.retry import NS
from goodput.notify.sign import signed_headers
from goodput.plumbing.secrets import read_secret
from goodput.settings.channels import Channel

PAGERDUTY = "https://events.pagerduty.com/v2/enqueue"
# Answers that the same body would get again: the receiver has read it and does not want it.
_NEVER = {
    "webhook": (400, 410, 413, 415, 422),
    "alertmanager": (400, 413, 415, 422),
    "pagerduty": (400, 413),
    "slack": (400, 403, 404, 410),
}
_PICTURES_REFUSED = 400  # by Slack, with all that is beside them, where it cannot fetch one
_API_PATH = "/api/v2/alerts"
_RESTS = (429, 503)  # with Retry-After: the receiver means all that it gets


@dataclass(frozen=True)
class SendResult:
    """How sending ended: delivered; else why not, and whether another attempt can end otherwise."""

    delivered: bool
    http_status: int | None = None
    error: str | None = None
    final: bool = False
    retry_after: str | None = None


@dataclass(frozen=True)
class Sender:
    """Sends over one channel; `base` is the folder of the settings file."""

    channel: Channel
    base: Path
    resolver: Resolver = look_up

    def send(self, delivery_id: str, body: bytes, now_ns: int) -> SendResult:
        """One attempt; never raises for what a receiver, the network or a secret does."""
        try:
            if self.channel.kind == "file":
                return _appended(self.base / (self.channel.path or ""), body)
            if self.channel.kind == "stdout":
                return _printed(body)
            return self._post(delivery_id, body, now_ns)
        except (TargetRefused, SecretUnusable) as error:
            return SendResult(False, error=" ".join(str(error).splitlines()))
        except TimeoutError as error:
            return SendResult(False, error=str(error) or "timed out")
        except (OSError, HTTPException, ValueError) as error:
            return SendResult(False, error=_plain(error))

    def shown_target(self) -> str:
        """Where the channel leads, without what is secret of it."""
        if self.channel.kind in ("file", "stdout"):
            return str(self.channel.path or "standard output")
        try:
            return shown(self._url())
        except (SecretUnusable, ValueError) as error:
            return str(error).splitlines()[0]

    def _post(self, delivery_id: str, body: bytes, now_ns: int) -> SendResult:
        channel, url = self.channel, self._url()
        headers = {"Content-Type": "application/json", "User-Agent": "goodput"}
        secrets = secrets_of_url(url)
        if channel.kind == "webhook":
            signing = [read_secret("signing_secrets", secret, self.base) for secret in channel.signing_secrets]
            headers |= signed_headers(delivery_id, now_ns // NS, body, signing)
            secrets += signing
        if channel.bearer_token is not None:
            secrets.append(read_secret("bearer_token", channel.bearer_token, self.base))
            headers["Authorization"] = f"Bearer {secrets[-1]}"
        if channel.routing_key is not None:
            secrets.append(read_secret("routing_key", channel.routing_key, self.base))
            body = b'{"routing_key":' + json.dumps(secrets[-1]).encode() + b"," + body[1:]
        deadline = Deadline(channel.timeout_s)
        where = deadline.within(lambda: target(url, allow_private=channel.allow_private, resolver=self.resolver))
        ca_file = None if channel.ca_file is None else self.base / channel.ca_file
        answer = post(where, body, headers, deadline, connect_s=channel.connect_timeout_s, ca_file=ca_file)
        if channel.kind == "slack" and answer.status == _PICTURES_REFUSED and (plain := without_pictures(body)):
            answer = post(where, plain, headers, deadline, connect_s=channel.connect_timeout_s, ca_file=ca_file)
        return _judged(channel.kind, answer, secrets)

    def _url(self) -> str:
        if self.channel.url is None:
            return PAGERDUTY
        url = read_secret("url", self.channel.url, self.base)
        if self.channel.kind == "alertmanager" and not url.endswith(_API_PATH):
            url = url.rstrip("/") + _API_PATH
        return url


def _judged(kind: str, answer: Answer, secrets: list[str]) -> SendResult:
    if 200 <= answer.status < 300:
        return SendResult(True, answer.status)
    excerpt = plain_words(answer.excerpt, secrets)
    redirect = " (redirects are not followed: give the final url)" if 300 <= answer.status < 400 else ""
    error = f"answered {answer.status}{redirect}{f': {excerpt}' if excerpt else ''}"
    return SendResult(False, answer.status, error, answer.status in _NEVER[kind], answer.retry_after)


def rests(sent: SendResult) -> bool:
    """Whether the receiver asked for a pause of all that the channel sends."""
    return sent.retry_after is not None and sent.http_status in _RESTS


def _plain(error: Exception) -> str:
    """An error of the network in words, without what it was asked to reach."""
    text = getattr(error, "strerror", None) or getattr(error, "verify_message", None) or type(error).__name__
    return f"{type(error).__name__}: {text}"


def _appended(path: Path, body: bytes) -> SendResult:
    """Append one line, on disk before it counts; after a torn line of a killed writer begin a new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        line = memoryview((b"\n" if torn else b"") + body)
        while line:  # a disk that is nearly full takes a part, and says so only when asked for the rest
            line = line[os.write(descriptor, line) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return SendResult(True)


def _printed(body: bytes) -> SendResult:
    sys.stdout.write(body.decode())
    sys.stdout.flush()
    return SendResult(True)
