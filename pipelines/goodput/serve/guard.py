"""Who is answered, and what every answer says: methods, the name in the address, the token, headers of security.

What a page may load is the page's to say.
"""

import asyncio
import ipaddress
import re
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goodput.listen.door import BUSY_RETRY_AFTER_S
from goodput.listen.token import given_token, is_let_in

HEALTH = "/healthz"
_METHODS = ("GET", "HEAD")
# A name or a number, and a port: whatever else a URL may hold before its path is no part of the header.
_HOST = re.compile(r"(?:\[(?P<number>[0-9a-fA-F:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?", re.ASCII)
_ASKED = {"www-authenticate": 'Basic realm="goodput", charset="UTF-8"'}
_SAID = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_ENDS = {"retry-after": str(BUSY_RETRY_AFTER_S), "connection": "close"}
_UNSAID = {"cache-control": "no-store", "content-security-policy": "default-src 'none'; frame-ancestors 'none'"}


class ReaderGuard:
    """Lets requests through to an application that only reads.

    `hosts` are the names by which readers call this machine. Any other name is refused, as a page elsewhere could have
    let its own name stand for this machine (DNS rebinding); numbers cannot be made to.
    """

    def __init__(self, app: ASGIApp, token: str | None, hosts: Collection[str]) -> None:
        self._app = app
        self._token = token.encode() if token else None
        self._hosts = {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        begun = False

        async def secured(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_SAID)
                for name, value in _UNSAID.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await (self._refusal(scope) or self._app)(scope, receive, secured)
        except asyncio.CancelledError:  # the server stops and has waited long enough
            if not begun:
                ending = PlainTextResponse("the server is stopping: ask again when it is back\n", 503, _ENDS)
                await ending(scope, receive, secured)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if scope["method"] not in _METHODS:
            return PlainTextResponse("nothing can be changed here: GET and HEAD\n", 405, {"allow": "GET, HEAD"})
        if not self._is_called(headers.getlist("host")):
            return PlainTextResponse("this name is not known here; [serve] hosts in goodput.toml lists names\n", 421)
        if scope["path"] == HEALTH or is_let_in(given_token(headers.get("authorization", "")), self._token):
            return None
        return PlainTextResponse("the token is the password, of any user\n", 401, _ASKED)

    def _is_called(self, given: list[str]) -> bool:
        if len(given) != 1:
            return False
        called = _HOST.fullmatch(given[0])
        if called is None:
            return False
        name = (called["number"] or called["name"]).lower()
        return name.removesuffix(".") in self._hosts or _is_number(name)


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
