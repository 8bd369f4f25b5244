"""How deep programs may go: the functions over trees call themselves once a level."""

from collections.abc import Sequence

from lark import Token, Tree

from genie_dp.languages.text import outside_texts

# Python stops at 1,000 calls, and some functions need four of them a level. Nobody says ten.
DEEPEST = 100
TOO_DEEP = f"expected at most {DEEPEST} parts inside each other, got more"
HINT = "take the program apart; no sentence says so much"


def too_deep_tree(tree: Tree[Token]) -> Tree[Token] | None:
    """Return the outermost part of a parse tree that lies too deep, or None.

    The queries of `s => q => q` stand beside each other there, and become a tree as deep as they
    are many.

    >>> too_deep_tree(Tree("program", [])) is None
    True
    """
    rest = [(tree, 1)]
    while rest:
        node, depth = rest.pop()
        below = [child for child in node.children if isinstance(child, Tree)]
        depth += max(1, sum(child.data == "then" for child in below))
        if depth > DEEPEST:
            return node
        rest.extend((child, depth) for child in below)
    return None


def too_deep_word(words: Sequence[str]) -> int | None:
    """Return the index of the bracket that is too deep in a token form, or None.

    >>> too_deep_word(["("] * 3 + ["@a.b"]), too_deep_word(["("] * 200)
    (None, 100)
    """
    depth = 0
    for place, word in outside_texts(words):
        depth += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
        if depth > DEEPEST:
            return place
    return None
