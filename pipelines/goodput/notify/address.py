"""Which addresses a channel may reach. A name is looked up once, every answer judged, and only those are connected to.

So neither a name that leads inside, nor one that changes between the look and the connection, reaches what only this
machine can.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from goodput.errors import TargetRefused

_OWN = "allow_private = true for a receiver of your own"
Resolver = Callable[[str, int], list[str]]
_HTTPS, _UNPRIVILEGED = 443, 1024
# Prefixes whose last 32 bits are an IPv4 address: by NAT64, and translated statelessly.
_TRANSLATED = (ip_network("64:ff9b::/96"), ip_network("::ffff:0:0:0/96"))
# The only IPv6 addresses that the Internet routes; all others are of one network, or of none.
_GLOBAL_V6 = ip_network("2000::/3")
# Of those, and of IPv4, what IANA's registries of special-purpose addresses say is not globally reachable. The
# standard library's own list is another with each version of Python.
_SPECIAL = tuple(
    ip_network(text)
    for text in (
        *("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24"),
        *("192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4"),
        *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)
# Link-local, and where clouds answer with credentials: nobody takes alarms there, so nothing allows them.
_NEVER = tuple(
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fe80::/10"),
        *("fd00:ec2::/32", "fd20:ce::254/128", "fd00:42::42/128"),
        "64:ff9b:1::/48",  # NAT64 of one network, which may carry any of the others at several places
    )
)


@dataclass(frozen=True)
class Target:
    """Where one request goes: addresses that were judged, and the name for Host, SNI and the certificate."""

    host: str
    port: int
    tls: bool
    path: str
    addresses: tuple[str, ...]

    @property
    def host_header(self) -> str:
        """Host as a request names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def shown(url: str) -> str:
    """Where a url leads, without what may be secret of it. Raises ValueError where it cannot be read."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"


def look_up(host: str, port: int) -> list[str]:
    """Addresses of a host by the system's resolver; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(item[4][0]) for item in found))


def target(url: str, *, allow_private: bool, resolver: Resolver = look_up, own: str = _OWN) -> Target:
    """Where `url` leads, judged; `own` says how to reach an address of one's own.

    Raises TargetRefused, and OSError where its name cannot be looked up.
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").encode("idna").decode(), parts.port
    except ValueError as error:
        raise TargetRefused("the url cannot be read", "an absolute https url") from error
    if parts.scheme not in ("https", "http") or not host:
        raise TargetRefused("the url is not absolute, or of another scheme", "an absolute https url")
    if parts.username is not None or parts.password is not None:
        raise TargetRefused("the url holds a user or a password", "bearer_token for what needs authorization")
    tls = parts.scheme == "https"
    if not tls and not allow_private:
        raise TargetRefused("the url is not encrypted", f"https, or {own}")
    port = port or (443 if tls else 80)
    if not allow_private and port != _HTTPS and port < _UNPRIVILEGED:
        raise TargetRefused(f"port {port} is that of another service", "443, or 1024 and above")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or not path.isprintable() or " " in path:
        raise TargetRefused("the path of the url holds characters that are not allowed", "percent-encoding")
    addresses = resolver(host, port)
    for address in addresses:
        judge(address, allow_private=allow_private, own=own)
    if not addresses:
        raise OSError(f"{host} has no address")
    return Target(host, port, tls, path, tuple(addresses))


def judge(address: str, *, allow_private: bool, own: str = _OWN) -> None:
    """Raise TargetRefused where a channel may not connect to an IP address."""
    try:
        seen = _unwrapped(ip_address(address.partition("%")[0]))
    except ValueError as error:
        raise TargetRefused(f"{address} is no IP address", "a name or address of the receiver") from error
    if seen.is_multicast or seen.is_unspecified or _is_in(seen, _NEVER):
        raise TargetRefused(f"{address} is link-local, multicast or of a metadata service", "a receiver's own address")
    if not _is_public(seen) and not allow_private:
        raise TargetRefused(f"{address} is private", f"a public address, or {own}")


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    routed = isinstance(address, IPv4Address) or address in _GLOBAL_V6
    return routed and not _is_in(address, _SPECIAL)


def _is_in(address: IPv4Address | IPv6Address, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def _unwrapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 address carries, where it carries one."""
    if isinstance(address, IPv4Address):
        return address
    if _is_in(address, _TRANSLATED):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    carried = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
    if carried is None and not int(address) >> 32 and int(address) > 1:  # ::a.b.c.d
        carried = IPv4Address(int(address))
    return carried or address
