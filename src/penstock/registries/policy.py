"""Which addresses are spoken to at all: only those that were configured, and never one that gives out credentials."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import unquote, urlsplit

from penstock.errors import Transient, shown

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_NAT64 = IPv6Network("64:ff9b::/96")

# Besides link-local addresses, where clouds answer questions about the machine, credentials among the answers.
_METADATA = {
    ip_address(text) for text in ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254")
}


@dataclass(frozen=True)
class Endpoint:
    """A URL that may be spoken to, without the credentials that it came with."""

    scheme: str
    host: str
    port: int
    path: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def endpoint(url: str) -> Endpoint:
    """What a URL leads to. A ValueError that does not repeat the URL, which may hold a password."""
    try:
        split = urlsplit(url)
        port, host = split.port, split.hostname
    except ValueError:
        raise ValueError("is not a URL such as https://registry.example.com:8081") from None
    if split.scheme not in _PORTS or not host:
        raise ValueError("must be a URL that begins with http:// or https:// and names a host")
    if not _HOST.fullmatch(host):
        raise ValueError("must be a URL with a plain host name; several URLs are given as a list")
    if split.query or split.fragment:
        raise ValueError("must end with the path: nothing after a '?' or '#'")
    if not url.isascii() or not url.isprintable() or any(c in url for c in ' \\"<>'):
        raise ValueError("must be a URL of plain characters, without blanks")
    return Endpoint(split.scheme, host, _PORTS[split.scheme] if port is None else port, split.path.rstrip("/"))


def credentials(url: str) -> tuple[str, str] | None:
    """The user and the password that a URL holds."""
    split = urlsplit(url)
    return None if split.username is None else (unquote(split.username), unquote(split.password or ""))


def without_credentials(url: str) -> str:
    split = urlsplit(url)
    return split._replace(netloc=split.netloc.rpartition("@")[2]).geturl()


def addresses(place: Endpoint, *, private: bool = True) -> list[str]:
    """The addresses that a host has and that may be connected to. `Transient` if it has none of them."""
    try:
        found = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as cause:
        raise Transient(
            "registry.unavailable",
            f"the host of {shown(str(place))} has no address: {shown(str(cause))}",
            "penstock waits; check the registry's URL and the name service",
        ) from None
    listed = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    allowed = [text for text in listed if may_connect(text, private=private)]
    if not allowed:
        raise Transient(
            "registry.forbidden-address",
            f"{shown(str(place))} leads to {shown(', '.join(listed))}, which penstock does not speak to",
            "penstock waits; give the address of a registry"
            + ("" if private else ", or allow private addresses with `private: true`"),
        )
    return allowed


def is_address(host: str) -> bool:
    """Whether a host is an address, in any of the ways that the system would take for one, and not a name."""
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return True


def may_connect(text: str, *, private: bool = True) -> bool:
    """Whether an address may be connected to: never link-local ones, metadata services and groups."""
    address = _meant(text)
    if address.is_link_local or address.is_multicast or address in _METADATA or str(address) == "255.255.255.255":
        return False
    return private or address.is_global


def _meant(text: str) -> IPv4Address | IPv6Address:
    """The address that packets end at: IPv6 has several ways to write an address of IPv4."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
