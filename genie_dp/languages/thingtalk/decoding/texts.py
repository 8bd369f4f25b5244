"""Free text between quote tokens, and what may stand after it."""

from genie_dp.languages.automaton import NOTHING, Frame, Move
from genie_dp.languages.copying import Sentence, TextNode
from genie_dp.languages.thingtalk.decoding.catalogue import Catalogue, Fit
from genie_dp.languages.thingtalk.types import LOCATION, STRING, Entity

QUOTE = frozenset(('"',))


def free_text(catalogue: Catalogue, sentence: Sentence) -> Frame:
    """Return the frame of words after an opening quote."""
    return sentence.make(TextStart, catalogue, bool(sentence.starts))


class TextStart(Frame):
    """The first word of a text; where there is none at all, the closing quote."""

    __slots__ = ("catalogue",)
    is_bound = True

    def __init__(self, catalogue: Catalogue, has_words: bool):
        """Allow the first words of fixed texts."""
        self.catalogue = catalogue
        words = catalogue.constants.texts.words
        super().__init__(words if words or has_words else QUOTE)

    def copied(self, sentence: Sentence, *, is_closing: bool) -> frozenset[str]:
        """Return all words of the sentence."""
        return sentence.starts

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on after the first word."""
        if token == '"':
            return (), None
        node = self.catalogue.constants.texts.following.get(token)
        return (sentence.make(TextMore, self.catalogue, sentence.begin(token), node, 1),), None


class TextMore(Frame):
    """The next word of a text that continues one of the spans so far, or the closing quote."""

    __slots__ = ("catalogue", "count", "ends", "node")
    is_bound = True

    def __init__(
        self, catalogue: Catalogue, ends: tuple[int, ...], node: TextNode | None, count: int
    ):
        """Keep where spans of the sentence end, and the place among the fixed texts."""
        self.catalogue, self.ends, self.node, self.count = catalogue, ends, node, count
        automaton = catalogue.automaton
        words = automaton.set_of(node.words) if node is not None else NOTHING
        is_text = bool(ends) or (node is not None and node.is_end)
        quote = automaton.set_of(QUOTE)
        fixed = automaton.union(quote, words) if is_text else words
        super().__init__(fixed, closing=quote if is_text else words)

    def copied(self, sentence: Sentence, *, is_closing: bool) -> frozenset[str]:
        """Return the words after the spans."""
        if is_closing or self.count >= self.catalogue.limits.words:
            return NOTHING
        return sentence.next_words(self.ends)

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with those spans that have the word."""
        if token == '"':
            return (), None
        node = self.node.following.get(token) if self.node is not None else None
        ends = sentence.go_on(self.ends, token)
        if self.count >= self.catalogue.limits.words:
            ends = ()
        return (sentence.make(TextMore, self.catalogue, ends, node, self.count + 1),), None


def kinds_of(catalogue: Catalogue, fit: Fit) -> frozenset[str]:
    """Return the tokens of the kinds of entities that fit."""
    return frozenset(f"^^{kind}" for kind in catalogue.kinds if fit.takes(Entity(kind)))


class AfterText(Frame):
    """What words may be: text as it is, an entity, or a place with a name."""

    __slots__ = ("catalogue",)

    def __init__(self, catalogue: Catalogue, fit: Fit):
        """Allow what fits."""
        self.catalogue = catalogue
        places = catalogue.constants.of("at:") if fit.takes(LOCATION) else NOTHING
        is_text = fit.takes(STRING)
        fixed = kinds_of(catalogue, fit) | places
        super().__init__(fixed, closing=NOTHING if is_text else fixed, skips=is_text, result=STRING)

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with the identifier of an entity."""
        if token.startswith("at:"):
            return (), LOCATION
        return (self.catalogue.automaton.make(Identifier, self.catalogue, token[2:]),), None


class Identifier(Frame):
    """The identifier of an entity with a name of its own."""

    __slots__ = ("kind",)

    def __init__(self, catalogue: Catalogue, kind: str):
        """Allow the identifiers that were given."""
        self.kind = Entity(kind)
        identifiers = catalogue.constants.of("id:")
        super().__init__(identifiers, closing=NOTHING, skips=True, result=self.kind)

    def take(self, token: str, sentence: Sentence) -> Move:
        """End the entity."""
        return (), self.kind


class Unknown(Frame):
    """An entity that is not looked up yet, after `null`: its words, or none."""

    __slots__ = ("catalogue", "kinds")

    def __init__(self, catalogue: Catalogue, fit: Fit):
        """Allow words and the kinds that fit."""
        self.catalogue = catalogue
        self.kinds = catalogue.automaton.make(Kind, catalogue, fit)
        super().__init__(self.kinds.fixed | {'"', '""'}, closing=self.kinds.fixed)

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with the words."""
        if token == '"':
            return (free_text(self.catalogue, sentence), self.kinds), None
        return ((self.kinds,), None) if token == '""' else self.kinds.take(token, sentence)


class Kind(Frame):
    """The kind of an entity that has no identifier."""

    __slots__ = ()

    def __init__(self, catalogue: Catalogue, fit: Fit):
        """Allow the kinds that fit."""
        super().__init__(kinds_of(catalogue, fit))

    def take(self, token: str, sentence: Sentence) -> Move:
        """End the entity."""
        return (), Entity(token[2:])
