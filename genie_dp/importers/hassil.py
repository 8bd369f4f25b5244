r"""Sentence templates of Home Assistant (hassil), read and put into utterances of ours.

    turn (on|off) [the] {area} light[s]     alternatives, optional parts, values of lists
    set [the] <temp> (to;{temperature})     rules by name; permutations

Their templates are made of letters: `light[s]` is two words. Ours are made of tokens, so
glued words are spelled out: `('light' | 'lights')`. Where a value is glued to the text before
it, as in `de{area}`, the word `~` stands between them. Behind a value, and before a number, it may
be left out, for to hassil `{area}s` and `{area} s` are one, and so are `channel{n}` and
`channel {n}`; behind a number, of which readers know the end, it is.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.skills.words import GLUE, tokenize
from genie_dp.templates.ast import (
    Choice,
    Item,
    Optional,
    PlainWords,
    QuotedWords,
)

# ------------------------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class Letters:
    """Letters without a space among them."""

    text: str


@dataclass(frozen=True, slots=True)
class Space:
    """Some white space."""


@dataclass(frozen=True, slots=True)
class ListReference:
    """`{list}` or `{list:slot}`."""

    name: str
    slot: str


@dataclass(frozen=True, slots=True)
class RuleReference:
    """`<rule>`."""

    name: str


@dataclass(frozen=True, slots=True)
class AlternativeGroup:
    """`(a|b)`; `[a]` has an alternative without anything."""

    alternatives: tuple["Sequence_", ...]


@dataclass(frozen=True, slots=True)
class Permutation:
    """`(a;b)`: all of them, in any order."""

    parts: tuple["Sequence_", ...]


@dataclass(frozen=True, slots=True)
class GluePoint:
    """Between a value and letters that are glued to it."""


Atom = Letters | Space | ListReference | RuleReference | AlternativeGroup | Permutation | GluePoint
Sequence_ = tuple[Atom, ...]
SPACE, GLUE_POINT = Space(), GluePoint()

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_SPECIAL = frozenset("()[]{}<>|;\\")
_DEEPEST = 50


def read_template(text: str, *, file: str = "<template>", keeps_empty: bool = True) -> Sequence_:
    """Return the parsed form of a hassil template.

    Args:
        text: the template.
        file: its name, for mistakes.
        keeps_empty: whether `(a|)` may be left out; to hassil itself only `[a]` may.

    Raises:
        GenieError: R086, brackets that do not fit each other, a list or a rule without a name, `|`
            beside `;`, more than 50 brackets in each other.

    >>> read_template("light[s]")
    (Letters(text='light'), AlternativeGroup(alternatives=((Letters(text='s'),), ())))
    """
    text = unicodedata.normalize("NFC", text).replace("’", "'")
    return _TemplateReader(text, file, keeps_empty=keeps_empty).group(0, "")


class _TemplateReader:
    def __init__(self, text: str, file: str, *, keeps_empty: bool):
        self.text, self.file, self.keeps_empty = text, file, keeps_empty
        self.place = 0

    def group(self, depth: int, closing: str) -> Sequence_:
        """Return the sequence before a closing bracket, or the end."""
        start = self.place - 1
        if depth > _DEEPEST:
            raise self.error("R086", f"more than {_DEEPEST} brackets in each other", start)
        parts: list[list[Atom]] = [[]]
        separators: set[str] = set()
        while self.place < len(self.text):
            character = self.text[self.place]
            if character == closing:
                break
            if character in "|;":
                separators.add(character)
                if len(separators) > 1:
                    hint = "put one of them between brackets"
                    message = "'|' and ';' stand beside each other"
                    raise self.error("R086", message, self.place, hint)
                self.place += 1
                parts.append([])
            else:
                parts[-1] += self.atoms(character, depth, closing)
        else:
            if closing:
                raise self.error("R086", f"expected '{closing}', got the end", start)
        if len(parts) == 1:
            return tuple(parts[0])
        sequences = tuple(tuple(part) for part in parts)
        if separators == {";"}:
            return (Permutation(sequences),)
        if not self.keeps_empty:
            sequences = tuple(filter(None, sequences)) or ((),)
        return (AlternativeGroup(tuple(dict.fromkeys(sequences))),)

    def atoms(self, character: str, depth: int, closing: str) -> Iterable[Atom]:
        """Return the atom that begins with a character that separates nothing."""
        match character:
            case ")" | "]" | "}" | ">":
                opened = f"'{closing}'" if closing else "no closing bracket"
                raise self.error("R086", f"expected {opened}, got {character!r}", self.place)
            case "(":
                return self.inside(depth, ")")
            case "[":
                return (_optional(self.inside(depth, "]")),)
            case "{" | "<":
                return (self.reference(character),)
            case _:
                return self.letters()

    def inside(self, depth: int, closing: str) -> Sequence_:
        """Return a group, and step over its brackets."""
        self.place += 1
        group = self.group(depth + 1, closing)
        self.place += 1
        return group

    def reference(self, opening: str) -> Atom:
        start = self.place
        self.place += 1
        end = self.text.find(_CLOSING[opening], self.place)
        if end < 0:
            raise self.error("R086", f"expected '{_CLOSING[opening]}', got the end", start)
        name = re.sub(r"\\(.)", r"\1", self.text[self.place : end]).strip()
        self.place = end + 1
        kind = "list" if opening == "{" else "rule"
        if not name.strip(":@"):
            raise self.error("R086", f"expected the name of a {kind}", start)
        if opening == "<":
            return RuleReference(name)
        name, _, slot = name.partition(":")
        return ListReference(name.lstrip("@"), (slot or name).lstrip("@"))

    def letters(self) -> Iterator[Atom]:
        letters = ""
        while self.place < len(self.text):
            character = self.text[self.place]
            if character == "\\" and self.place + 1 < len(self.text):
                self.place += 1
                character = self.text[self.place]
            elif character in _SPECIAL:
                break
            self.place += 1
            if not character.isspace():
                letters += character
                continue
            if letters:
                yield Letters(letters)
                letters = ""
            yield SPACE
        if letters:
            yield Letters(letters)

    def error(self, code: str, message: str, place: int, hint: str | None = None) -> GenieError:
        place = max(0, place)
        line = self.text.count("\n", 0, place) + 1
        column = place - self.text.rfind("\n", 0, place)
        span = Span(self.file, line, column, line, column + 1)
        problem = Problem(code, message, span, hint, stage="syntax")
        return GenieError(problem, sources={self.file: self.text})


def _optional(inner: Sequence_) -> AlternativeGroup:
    match inner:
        case (AlternativeGroup(alternatives),):
            return AlternativeGroup(tuple(dict.fromkeys((*alternatives, ()))))
        case _:
            return AlternativeGroup((inner, ()) if inner else ((),))


def is_template(text: str) -> bool:
    """Return whether a value of a list is written as a template."""
    return not set("(){}<>[]|@").isdisjoint(text)


# ----------------------------------------------------------------------------------- utterances

MOST_VARIANTS = 3_000  # ways to spell out what is glued together
_MOST_PARTS = 5  # of a permutation: 120 orders
# Scripts without spaces between words: each letter is a token.
UNSPACED = re.compile(
    "([\u4e00-\u9fff\u3400-\u4dbf\u3040-\u30ff]"
    "|[\u0e00-\u0e7f][\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]*)"  # a letter of Thai with its signs
)
_PUNCTUATION = ".。,，?¿？؟!¡！;；:：…—–―"
_DOTTED = re.compile(r"(?:\w\.){2,}")


_JOINED = frozenset(("alphabetic", "list"))  # beginnings that may be glued to a value before them


class CannotSayError(Exception):
    """The template has no equivalent in our templates."""


class NeverSaidError(CannotSayError):
    """The text of a template can be no part of a sentence, which has no punctuation."""


@dataclass(frozen=True, slots=True)
class _Edges:
    """The possible first and last letters of a sequence.

    With a space, a letter (also "alphabetic", if it is no sign such as "%"), an apostrophe, a list,
    of which "value" is the end.
    """

    left: frozenset[str]
    right: frozenset[str]
    may_be_empty: bool


@dataclass
class UtteranceWriter:
    """Makes utterances of templates.

    Attributes:
        rules: name -> the template of a rule.
        say_rule: returns the item for a rule which stands alone, or its sequence where it has
            to be written out.
        say_list: returns the item for a value.
        is_plain: whether words are those that people write, without their punctuation, and nothing
            may be glued to the end of a value; else as for hassil.
        is_number: whether the values of a list are numbers.
    """

    rules: Callable[[str], Sequence_]
    say_rule: Callable[[RuleReference], Item | Sequence_]
    say_list: Callable[[ListReference], Item]
    is_plain: bool = False
    is_number: Callable[[ListReference], bool] = lambda _: False

    def utterance(self, sequence: Sequence_) -> tuple[Item, ...]:
        """Return the items with the same meaning as a template.

        Raises:
            CannotSayError: a glued word cannot be spelled out; NeverSaidError: no
                sentence derives it.
        """
        items: list[Item] = []
        for run in self._runs(sequence):
            items += self._run(run)
        return tuple(join_quoted(items))

    # ------------------------------------------------------------------------------ edges

    @cached_property
    def _rule_edges(self) -> dict[str, _Edges]:
        return {}

    def _edges(self, atom: Atom) -> _Edges:
        match atom:
            case Letters(text):
                first, last = (self._edge_of(text[0]), self._edge_of(text[-1]))
                may_follow = not self.is_plain and _may_follow_value(text)
                left_letters = {first, "alphabetic"} if may_follow else {first}
                return _Edges(frozenset(left_letters), frozenset({last}), False)
            case Space() | GluePoint():
                return _Edges(frozenset({"space"}), frozenset({"space"}), False)
            case ListReference():
                end = "space" if self.is_number(atom) else "value"
                return _Edges(frozenset({"list"}), frozenset({end}), False)
            case RuleReference(name):
                if name not in self._rule_edges:
                    self._rule_edges[name] = _Edges(frozenset(), frozenset(), False)  # of itself
                    self._rule_edges[name] = self._edges_of(self.rules(name))
                return self._rule_edges[name]
            case AlternativeGroup(alternatives):
                return _either(map(self._edges_of, alternatives))
            case Permutation():
                return _Edges(frozenset({"space"}), frozenset({"space"}), False)

    def _edge_of(self, character: str) -> str:
        is_mark = self.is_plain and not (character.isalnum() or character in "'-.&+_")
        return "space" if is_mark else _edge_of(character)

    def _edges_of(self, sequence: Sequence_) -> _Edges:
        edges = list(map(self._edges, sequence))
        return _Edges(
            _first((e.left, e.may_be_empty) for e in edges),
            _first((e.right, e.may_be_empty) for e in reversed(edges)),
            all(e.may_be_empty for e in edges),
        )

    def _runs(self, sequence: Sequence_) -> Iterator[Sequence_]:
        """Yield the parts between which there is a space whatever is chosen."""
        atoms = self._with_joints(self._with_whole_letters(sequence))
        edges = list(map(self._edges, atoms))
        run: list[Atom] = []
        for place, atom in enumerate(atoms):
            if run and not self._is_glued(edges, place, atoms):
                yield tuple(run)
                run = []
            run.append(atom)
        if run:
            yield tuple(run)

    def _is_glued(self, edges: Sequence[_Edges], place: int, atoms: Sequence[Atom]) -> bool:
        """Return whether the text before a place may be glued to the text there."""
        before = _first((e.right, e.may_be_empty) for e in reversed(edges[:place]))
        after = _first((e.left, e.may_be_empty) for e in edges[place:])
        if isinstance(atoms[place - 1], Letters) and isinstance(atoms[place], ListReference):
            return False  # nothing to spell out
        if self.is_plain and "value" in before and "letter" in after:
            raise CannotSayError("letters are glued to the end of a value")
        is_word = "letter" in before or "apostrophe" in before
        return (is_word and "letter" in after) or ("letter" in before and "list" in after)

    def _with_whole_letters(self, sequence: Sequence_) -> list[Atom]:
        """Return a sequence with letters beside each other joined, and marked before a list."""
        atoms: list[Atom] = []
        for atom in sequence:
            last = atoms[-1] if atoms else None
            if isinstance(atom, Letters) and isinstance(last, Letters):
                atoms[-1] = Letters(last.text + atom.text)
                continue
            if isinstance(atom, ListReference) and isinstance(last, Letters) and _is_open(last):
                if self.is_number(atom):
                    atoms.append(GLUE_POINT)
                else:
                    atoms[-1] = Letters(f"{last.text}~")
            atoms.append(atom)
        return atoms

    def _with_joints(self, atoms: Sequence[Atom]) -> list[Atom]:
        """Return atoms with a joint between each value, but a number, and letters behind it."""
        edges = list(map(self._edges, atoms))
        items: list[Atom] = []
        for place, atom in enumerate(atoms):
            before = _first((e.right, e.may_be_empty) for e in reversed(edges[:place]))
            # What may be letters is spelled out, and comes here again.
            if before.isdisjoint(("letter", "apostrophe")) and "value" in before:
                after = _first((e.left, e.may_be_empty) for e in edges[place + 1 :])
                items += self._behind_value(atom, is_glued=not _JOINED.isdisjoint(after))
            else:
                items.append(atom)
        return items

    def _behind_value(self, atom: Atom, *, is_glued: bool) -> Sequence_:
        """Return an atom with a joint before it, or before those of its choices that may have it.

        Args:
            atom: the atom after a value.
            is_glued: whether letters come next. Where the atom is left out, these are behind the
                value: of `{room}[n]light` "light" and "nlight" are.
        """
        edges = self._edges(atom)
        is_skipped = is_glued and edges.may_be_empty and "letter" in edges.right
        if _JOINED.isdisjoint(edges.left) and not is_skipped:
            return (atom,)
        if not isinstance(atom, AlternativeGroup) or not (
            edges.may_be_empty or "space" in edges.left
        ):
            return GLUE_POINT, atom
        ways: list[Sequence_] = []
        for way in atom.alternatives:
            has_joint = (is_skipped and not way) or not _JOINED.isdisjoint(self._edges_of(way).left)
            ways.append((GLUE_POINT, *way) if has_joint else way)
        return (AlternativeGroup(tuple(ways)),)

    # ------------------------------------------------------------------------------- items

    def _run(self, run: Sequence_) -> Iterator[Item]:
        if len(run) == 1:
            yield from self._item(run[0])
            return
        if all(isinstance(atom, Letters | ListReference) for atom in run):
            raise AssertionError(run)  # whole letters are never glued to each other
        yield from self._choice(self._spelled_out(run))

    def _spelled_out(self, run: Sequence_) -> list[Sequence_]:
        """Return the ways to choose between all that is glued together."""
        options = [self._options(atom) for atom in run]
        count = 1
        for option in options:
            count *= len(option)
        if count > MOST_VARIANTS:
            raise CannotSayError(f"{count:,} ways")
        return [tuple(itertools.chain(*way)) for way in itertools.product(*options)]

    def _options(self, atom: Atom) -> Sequence[Sequence_]:
        match atom:
            case AlternativeGroup(alternatives):
                return alternatives
            case RuleReference(name):
                return [self.rules(name)]
            case Permutation():
                return _orders(atom)
            case _:
                return [(atom,)]

    def _item(self, atom: Atom) -> Iterator[Item]:
        match atom:
            case Letters(text):
                words = _plain_words(text) if self.is_plain else _words(text)
                if words:
                    yield QuotedWords((PlainWords(words),))
            case Space():
                pass
            case GluePoint():
                yield Optional((QuotedWords((PlainWords(GLUE),)),))
            case ListReference():
                yield self.say_list(atom)
            case RuleReference():
                phrases = self.say_rule(atom)
                if isinstance(phrases, tuple):
                    yield from self._choice([phrases])
                else:
                    yield phrases
            case AlternativeGroup(alternatives):
                yield from self._choice(alternatives)
            case Permutation():
                yield from self._choice(_orders(atom))

    def _choice(self, sequences: Iterable[Sequence_]) -> Iterator[Item]:
        ways: dict[tuple[Item, ...], None] = {}
        never: NeverSaidError | None = None
        for sequence in sequences:
            try:
                utterance = self.utterance(sequence)
            except NeverSaidError as error:
                never = error
                continue
            for way in _flat(utterance):
                ways.setdefault(way)
        if not ways and never is not None:
            raise never
        nonempty = [way for way in ways if way]
        if not nonempty:
            return
        items = (Choice(tuple(nonempty)),) if len(nonempty) > 1 else nonempty[0]
        if () in ways:
            yield Optional(items)
        else:
            yield from items


def _flat(utterance: tuple[Item, ...]) -> Iterator[tuple[Item, ...]]:
    """Yield the alternatives of a plain choice."""
    match utterance:
        case (Choice(alternatives),):
            yield from alternatives
        case (Optional((Choice(alternatives),)),):
            yield from alternatives
            yield ()
        case (Optional(items),):
            yield items
            yield ()
        case _:
            yield utterance


def _edge_of(character: str) -> str:
    if UNSPACED.match(character):
        return "space"
    return "apostrophe" if character == "'" else "letter"


def _is_open(letters: Letters) -> bool:
    """Return whether a list behind letters is a part of their word."""
    last = letters.text[-1]
    return _edge_of(last) == "letter" and last not in "~-"


def _may_follow_value(text: str) -> bool:
    """Return whether letters are glued to a value before them: they begin with one of a word."""
    return text[0].isalpha() and _edge_of(text[0]) == "letter"


def _either(edges: Iterable[_Edges]) -> _Edges:
    edge_list = list(edges)
    return _Edges(
        frozenset().union(*(e.left for e in edge_list)),
        frozenset().union(*(e.right for e in edge_list)),
        any(e.may_be_empty for e in edge_list),
    )


def _first(edges: Iterable[tuple[frozenset[str], bool]]) -> frozenset[str]:
    """Return how the first of some parts begins, or the next where that may be empty."""
    letters: frozenset[str] = frozenset()
    for edge, may_be_empty in edges:
        letters |= edge
        if not may_be_empty:
            return letters
    return letters | {"space"}


def _orders(permutation: Permutation) -> list[Sequence_]:
    if len(permutation.parts) > _MOST_PARTS:
        raise CannotSayError(f"a permutation of {len(permutation.parts)} parts")
    return [
        tuple(itertools.chain(*((SPACE, *part, SPACE) for part in order)))
        for order in itertools.permutations(permutation.parts)
    ]


def _words(text: str) -> str:
    """Return letters as words, those of scripts without spaces apart."""
    if set(text) == {"-"}:
        return ""  # between two words it says nothing
    bare = text.removesuffix("~")
    is_closed = bare[:1] in _PUNCTUATION or (bare[-1:] in _PUNCTUATION and bare[-1:] != "")
    if bare and is_closed and not _DOTTED.fullmatch(bare):
        raise NeverSaidError(f"{bare!r} has punctuation at its end, which hassil takes away")
    text = f"{bare} ~" if text.endswith("~") else text
    return " ".join(UNSPACED.sub(r" \1 ", text).split())


def _plain_words(text: str) -> str:
    words = literal(text.removesuffix("~"))
    return f"{words} ~" if text.endswith("~") and words[-1:].isalnum() else words


# Brackets, signs, and marks at the end of words; "$" but before a number.
_NO_LETTERS = re.compile(
    r"[()\[\]{}<>|;\\~…?¿؟!¡！。，：—–\"“”„«»*`]|\$(?!\d)|[.,:-]+(?=[\s()\[\]{}<>|?!\"]|$)"
)
_MARKS = frozenset((".", "...", ",", ":", "'", "-"))


def plain(text: str) -> str:
    """Return words for a template of hassil: brackets and punctuation become spaces.

    >>> plain("What's on (BBC) at 5:30?")
    "What's on  BBC  at 5:30 "
    """
    return _NO_LETTERS.sub(" ", text.replace("’", "'"))


def literal(text: str) -> str:
    """Return words as sentences have them when they are read, without punctuation.

    >>> literal("What's on (BBC) at 5:30 p.m., please?")
    "what 's on bbc at 5:30 p.m please"
    """
    words = " ".join(token for token in tokenize(plain(text)) if token not in _MARKS)
    return " ".join(UNSPACED.sub(r" \1 ", words).split())


def join_quoted(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items with quoted words beside each other in one pair of quotes."""
    waiting: QuotedWords | None = None
    for item in items:
        if isinstance(item, QuotedWords):
            waiting = QuotedWords((*waiting.parts, *item.parts)) if waiting else item
            continue
        if waiting:
            yield waiting
            waiting = None
        yield item
    if waiting:
        yield waiting
