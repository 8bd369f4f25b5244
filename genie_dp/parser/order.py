"""Programs in another order that mean the same: the ablation without canonical form."""

import random
from dataclasses import replace
from typing import Any

from genie_dp.languages.thingtalk.ast import And, Call, Or
from genie_dp.languages.thingtalk.traverse import rewrite


def reordered(program: Any, rng: random.Random) -> Any:
    """Return a program with inputs and conditions in an order that is drawn.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> from genie_dp.languages.thingtalk.render import render
    >>> program = parse("now => @c.f(a=1, b=2, c=3)")
    >>> render(reordered(program, random.Random(1)))
    'now => @c.f(a = 1, c = 3, b = 2)'
    """

    def changed(node: Any) -> Any:
        if isinstance(node, Call) and len(node.args) > 1:
            return replace(node, args=tuple(rng.sample(node.args, len(node.args))))
        if isinstance(node, And | Or):
            return replace(node, operands=tuple(rng.sample(node.operands, len(node.operands))))
        return node

    return rewrite(program, changed)
