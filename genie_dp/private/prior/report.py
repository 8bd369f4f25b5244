"""A prior in words, for the developers of a library: what people ask for, and what it lacks."""

from collections.abc import Iterator, Mapping

from genie_dp.private.prior.support import ANY
from genie_dp.records import Frequency, PrivatePrior

MOST_LINES = 20


def lines(prior: PrivatePrior, most: int = MOST_LINES) -> Iterator[str]:
    """Yield the lines of a report; of every list the `most` frequent ones."""
    unit = f"{prior.spent.unit}s"
    yield from _guarantee(prior)
    lacking = dict(prior.missing)
    any_ = lacking.pop(ANY, None)
    if any_ is not None:
        yield ""
        many = f"{_in_1000(any_.share)} in 1,000 {unit}"
        yield f"{many} ask for a function that the library lacks {_range(any_)}"
    yield from _table("functions that it lacks", lacking, unit, most)
    yield from _table("functions asked for most", prior.functions, unit, most)
    yield from _table("functions asked for together", prior.pairs, unit, most)


def _guarantee(prior: PrivatePrior) -> Iterator[str]:
    spent, told = prior.spent, prior.release
    epsilon = f"epsilon {spent.epsilon:.4g} at delta {spent.delta:.4g} ({spent.accountant})"
    yield f"private prior: {epsilon} for each {spent.unit}, {spent.relation}"
    yield (
        f"about {told['units']:,} {spent.unit}s ({told['units_are']}), "
        f"{told['mechanism']} noise of standard deviation {told['noise']:.3g} on each count"
    )
    if prior.signal == 0:
        yield "noise dominates: no function is asked for more than another as far as can be told,"
        yield "and synthesis stays as it is; more data or a greater epsilon would tell"
    if prior.programs:
        yield f"{len(prior.programs):,} programs and sentences of a private generator"


def _table(title: str, found: Mapping[str, Frequency], unit: str, most: int) -> Iterator[str]:
    # What may be nothing at all is no news.
    certain = [(name, f) for name, f in found.items() if f.low > 0]
    certain.sort(key=lambda item: (-item[1].share, item[0]))
    if not certain:
        return
    yield ""
    yield f"{title}, in 1,000 {unit}:"
    for name, one in certain[:most]:
        yield f"{_in_1000(one.share):>8}  {name}  {_range(one)}"
    if len(certain) > most:
        yield f"          and {len(certain) - most:,} more"


def _range(one: Frequency) -> str:
    return f"({_in_1000(one.low)} to {_in_1000(one.high)})"


def _in_1000(share: float) -> str:
    """Return a share in 1,000.

    >>> _in_1000(0.04), _in_1000(0.0012)
    ('40', '1.2')
    """
    value = 1000 * share
    return f"{value:.0f}" if value >= 10 or value == round(value) else f"{value:.1f}"
