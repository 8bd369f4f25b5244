"""Addresses: which are this machine's alone, and by which names a page may be asked for."""

import ipaddress
import socket
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from genie_dp.errors import GenieError, Problem

_LOCAL_NAMES = frozenset({"localhost"})


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "box")]
    [True, True, True, False, False]
    """
    address = _address(host)
    return host.lower() in _LOCAL_NAMES if address is None else address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class HostRule:
    """Which Host headers are answered: a foreign name that leads here is DNS rebinding.

    Attributes:
        names: that are answered, in lower case.
        takes_addresses: whether any numeric address is; no foreign page has one as its name.
    """

    names: Collection[str]
    takes_addresses: bool = False

    def accepts(self, header: str) -> bool:
        """Return whether a Host header is answered, whatever its port.

        >>> rule = HostRule({"localhost"})
        >>> [rule.accepts(h) for h in ("localhost:80", "127.0.0.1", "[::1]:80", "evil.example", "")]
        [True, True, True, False, False]
        >>> HostRule((), takes_addresses=True).accepts("192.0.2.7:8808")
        True
        """
        try:
            name = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        address = _address(name)
        if address is None:
            return name.lower().rstrip(".") in self.names
        return address.is_loopback or self.takes_addresses


def rule_for(host: str, more: Collection[str] = ()) -> HostRule:
    """Return the rule for a server that listens at a host.

    Args:
        more: further names that lead here, such as that of a proxy.
    """
    names = {*_LOCAL_NAMES, *(name.lower() for name in more)}
    if is_loopback(host):
        return HostRule(names)
    machine = socket.gethostname().lower()
    names |= {host.lower(), machine, f"{machine}.local", socket.getfqdn().lower()}
    return HostRule(names, takes_addresses=True)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; connections wait in it until they are accepted.

    Raises:
        GenieError: P204, the address is taken, or none of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _unusable(host, port, error) from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(128)
    except OSError as error:
        bound.close()
        raise _unusable(host, port, error) from None
    return bound


def _unusable(host: str, port: int, error: OSError) -> GenieError:
    hint = "give another --port (0: any that is free), or a --host of this machine"
    message = f"cannot listen at {host}, port {port}: {error.strerror or error}"
    return GenieError(Problem("P204", message, hint=hint))


def address_of(bound: socket.socket, host: str) -> str:
    """Return the address to open, such as `http://127.0.0.1:8808/`."""
    name = _outside_address() if host in ("0.0.0.0", "::", "") else host
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{bound.getsockname()[1]}/"


def _outside_address() -> str:
    """Return the address of this machine in its network, or its name; nothing is sent for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address that belongs to nobody (RFC 5737)
        except OSError:
            return socket.gethostname()
        return str(probe.getsockname()[0])
