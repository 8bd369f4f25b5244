"""Semantic functions of the pizza templates."""

from genie_dp.languages.sexpr.ast import Expression, Node, label


def sensible(order: Expression) -> Expression | None:
    """Return the order, or None where it asks for a topping twice or both wants and bans it."""
    if not isinstance(order, Node):
        return None
    wanted = [
        topping for item in order.items[1:] for topping in _toppings(item) if not _is_ban(item)
    ]
    banned = [topping for item in order.items[1:] for topping in _toppings(item) if _is_ban(item)]
    named = wanted + banned
    return order if len(set(named)) == len(named) else None


def _is_ban(item: Expression) -> bool:
    return isinstance(item, Node) and label(item) == "NOT"


def _toppings(item: Expression) -> list[Expression]:
    if not isinstance(item, Node):
        return []
    if label(item) == "TOPPING":
        return [item]
    return [topping for inner in item.items for topping in _toppings(inner)]
