"""How a rule is said: words with the right forms, and children in the way the template asks."""

import re
from collections.abc import Callable, Mapping, Sequence

from genie_dp.synthesis.assembly import OWN, WORDS, Said, assembler
from genie_dp.synthesis.layout import Agreement, ChildSpec, OwnDeterminer
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.placeholders import GAP
from genie_dp.synthesis.rules import Rule, Wording
from genie_dp.templates import english

_NUMBERS = {"sg": 0, "pl": 1, "mass": 2}


def wording(rule: Rule, numbers: Mapping[int, str]) -> Wording:
    """Return how to say the rule when its children have these numbers (index -> sg, pl, mass)."""
    said: list[str | Said] = []
    for part in rule.layout.parts:
        match part:
            case str():
                said.append(part)
            case Agreement(child, forms):
                form = forms[_NUMBERS[numbers[child]]]
                if form:
                    said.append(form)
            case OwnDeterminer(child):
                said.append(Said(child, _determiner_printer(child)))
            case int():
                said.append(_said(rule.layout.children, part))
    text = " ".join("{}" if isinstance(part, Said) else part for part in said)
    return Wording(text, assembler(rule, said))


def _said(children: Sequence[ChildSpec], index: int) -> Said:
    child = children[index]
    if not child.after_article and child.gap is None and not child.after:
        if child.print_as in ("own", "any"):
            return Said(index, OWN)
        if child.print_as == "none":
            return Said(index, WORDS)
    return Said(index, _printer(children, index))


def _determiner_printer(index: int) -> Callable[[Sequence[Piece]], str]:
    return lambda pieces: pieces[index].features.det


def _printer(children: Sequence[ChildSpec], index: int) -> Callable[[Sequence[Piece]], str]:
    child = children[index]
    said = _without(_SAID[child.print_as], child.after)
    if child.gap is None:
        plain = said
    elif child.gap:
        words = child.gap

        def plain(piece: Piece) -> str:
            return PARTICLE.sub(rf"\1 {GAP} \2", said(piece)).replace(GAP, words)
    else:
        inner = _printer(children, index + 1)

        def filled(pieces: Sequence[Piece]) -> str:
            return _filled(said(pieces[index]), inner(pieces))

        return _with_article(filled) if child.after_article else filled

    def printer(pieces: Sequence[Piece]) -> str:
        return plain(pieces[index])

    return _with_article(printer) if child.after_article else printer


def _filled(text: str, words: str) -> str:
    """Return a text with words in its gap: "a #" fits its article to them."""
    if _ARTICLE in text:
        text = text.replace(_ARTICLE, f" {english.article(words)} {GAP}")
    return text.replace(GAP, words)


_ARTICLE = f" a {GAP}"
# A pronoun comes before the particle: "look it up", where a noun comes after, "look up the news".
PARTICLE = re.compile(rf"^(\w+) (away|back|down|in|off|on|out|over|up) {GAP}(?= |$)")


def _without(said: Callable[[Piece], str], after: str) -> Callable[[Piece], str]:
    if not after:
        return said
    return lambda piece: said(piece).removeprefix(after).lstrip()


def _with_article(
    printer: Callable[[Sequence[Piece]], str],
) -> Callable[[Sequence[Piece]], str]:
    def with_article(pieces: Sequence[Piece]) -> str:
        text = printer(pieces)
        return f"{english.article(text)} {text}"

    return with_article


def _with_the(piece: Piece) -> str:
    return piece.text if piece.features.own in ("the", "my") else f"the {piece.words}"


def _with_a(piece: Piece) -> str:
    return f"{english.article(piece.words)} {piece.words}"


_SAID: dict[str, Callable[[Piece], str]] = {
    "own": lambda piece: piece.text,
    "any": lambda piece: piece.text,
    "none": lambda piece: piece.words,
    "the": _with_the,
    "a": _with_a,
}
