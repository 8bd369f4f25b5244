"""Semantic functions of the pizza templates."""

from genie_dp.languages.sexpr.ast import Expression, Node, label


def sensible(order: Expression) -> Expression | None:
    """Return the order, or None where it names a topping, or a style, twice.

    Nobody wants ham but no ham, nor ham and extra ham.
    """
    named = list(_named(order))
    return order if len(set(named)) == len(named) else None


def _named(item: Expression) -> list[Expression]:
    if not isinstance(item, Node):
        return []
    if label(item) in ("TOPPING", "STYLE"):
        return [item]
    return [named for inner in item.items for named in _named(inner)]
