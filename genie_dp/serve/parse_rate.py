"""How much one address may ask for: a bucket of tokens each, and as many buckets as fit."""

import ipaddress
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from genie_dp.serve.hosts import is_loopback
from genie_dp.serve.parse_models import MOST_SENTENCES

_MOST_ADDRESSES = 10_000  # that are remembered; some 2 MB
_NETWORK = 64  # bits of an IPv6 address that stand for one household (RFC 6177)


@dataclass(frozen=True, slots=True)
class RateConfig:
    """How fast one address may go on.

    Attributes:
        rate: sentences a second; 0 for any number.
        burst: sentences at once, after a pause.
        spares_loopback: whether programs on this machine may ask for any number.
        most_addresses: that are remembered; of more, those that asked last.
    """

    rate: float = 20.0
    burst: int = 40
    spares_loopback: bool = True
    most_addresses: int = _MOST_ADDRESSES

    @classmethod
    def for_everybody(cls, rate: float) -> Self:
        """Return a rate that holds for everybody; a full request always passes after a pause.

        >>> RateConfig.for_everybody(5).burst, RateConfig.for_everybody(50).burst
        (32, 100)
        """
        return cls(rate, max(MOST_SENTENCES, round(2 * rate)), spares_loopback=False)


class Buckets:
    """The token bucket of each address; not for several threads."""

    def __init__(self, config: RateConfig, clock: Callable[[], float]):
        self._config = config
        self._clock = clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._levels)

    def take(self, address: str, sentences: int) -> float:
        """Take tokens, and return 0; or take none and return after how many seconds to ask again.

        >>> time = [0.0]
        >>> buckets = Buckets(RateConfig(rate=2, burst=4), lambda: time[0])
        >>> [buckets.take("192.0.2.7", 3) for _ in range(2)]
        [0.0, 1.0]
        >>> time[0] += 1
        >>> buckets.take("192.0.2.7", 3)
        0.0
        """
        config = self._config
        if config.rate <= 0 or (config.spares_loopback and is_loopback(address)):
            return 0.0
        name, now = network_of(address), self._clock()
        level, since = self._levels.pop(name, (float(config.burst), now))
        level = min(config.burst, level + (now - since) * config.rate)
        missing = sentences - level
        self._levels[name] = (level if missing > 0 else level - sentences, now)
        if len(self._levels) > config.most_addresses:
            self._levels.popitem(last=False)
        return missing / config.rate if missing > 0 else 0.0


def network_of(address: str) -> str:
    """Return the key of a bucket: an IPv4 address, or the network of an IPv6 address.

    >>> network_of("192.0.2.7"), network_of("2001:db8:1:2:3::4"), network_of("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:1:2::/64', '192.0.2.7')
    """
    try:
        parsed_address = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed_address.version == 4:
        return str(parsed_address)
    if parsed_address.ipv4_mapped is not None:
        return str(parsed_address.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed_address), _NETWORK), strict=False))


def whole_seconds(seconds: float) -> int:
    """Return seconds as the header Retry-After has them: whole, and 1 at least.

    >>> whole_seconds(0.2), whole_seconds(2.1)
    (1, 3)
    """
    return max(1, math.ceil(seconds))
