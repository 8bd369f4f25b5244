"""Everyday English for every library: wordings with the same and with the opposite meaning.

`locales/en.frames` is a lexicon of frames, verbs and nouns with places for the parts that differ:

    [commands]

    turn on X / turn off X
    switch on X / switch off X
    ~ get X going / ~ kill X

Frames of one paragraph mean the same, those behind a slash the opposite; one with `~` may mean
other things as well: it is understood so, and never written. docs/paraphrase.md describes
the format.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from genie_dp.english import lists
from genie_dp.english.rules import RuleSet, rule_set
from genie_dp.english.rules_match import RuleMatch, commonness, keys_of, with_articles
from genie_dp.english.rules_syntax import (
    OutputPart,
    PatternChoice,
    PatternEdge,
    PatternPart,
    Ref,
    RewriteRule,
    RuleFile,
    Variable,
    WordCondition,
)
from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.resources import data_folder
from genie_dp.skills.words import tokenize
from genie_dp.texts import read_text

# Place -> what may stand there, as conditions of rules.
PLACES: Mapping[str, str] = {
    "X": "np", "Y": "np", "Z": "np", "S": "any", "N": "amount", "T": "moment",
}  # fmt: skip
SECTIONS = ("commands", "questions", "phrases")
_ENDING = ".frames"  # of files in locales/, one a language
_GROUP = "frames"
_SHORT, _NO_PLURAL = WordCondition("short"), WordCondition("pl", negated=True)
_NO_VERB = WordCondition("starts", tuple(sorted(lists.VERBS | lists.VERBS_OR_NOUNS)), negated=True)
# "What is the radio playing?" asks what the radio does, and not for the radio.
_NO_DOING = WordCondition("ends", ("playing", "showing", "saying", "doing"), negated=True)
# "Was the mail labeled urgent?" is about no mail that is labeled so.
_NOT_OPEN = frozenset(("is", "are", "was", "were", "has", "have", "had", "been"))
# Beside a place they ask for the singular: "is the file", "the file 's size".
_SINGULAR = frozenset(("is", "was", "does", "has", "'s"))


@dataclass(frozen=True, slots=True)
class PhraseFrame:
    """One wording of a meaning.

    Attributes:
        words: its tokens; places are capitals.
        is_written: whether it may take the place of others, not only be understood as they are.
        span: where it stands in its file.
    """

    words: tuple[str, ...]
    is_written: bool
    span: Span

    @property
    def places(self) -> tuple[str, ...]:
        """Return its places in their order."""
        return tuple(word for word in self.words if word in PLACES)


class Meaning(NamedTuple):
    """The frames of a paragraph.

    Attributes:
        section: where they may stand: a whole command, a whole sentence, or anywhere.
        same: those that mean it.
        opposite: those that mean the opposite; none where there is none.
    """

    section: str
    same: tuple[PhraseFrame, ...]
    opposite: tuple[PhraseFrame, ...]


def read_frames(text: str, file: str = "<frames>") -> tuple[Meaning, ...]:
    """Return the meanings of a file of frames.

    Raises:
        GenieError: all mistakes, with their places: P120, a line that cannot be read; P121, other
            places than the first frame of the paragraph has; P122, a frame that is there twice;
            P123, a meaning with a single wording.

    >>> meaning, = read_frames("[commands]\\n\\nturn on X / turn off X\\nX on / X off\\n")
    >>> [" ".join(frame.words) for frame in meaning.opposite]
    ['turn off X', 'X off']
    """
    reader = _FrameReader(file)
    for number, line in enumerate((*text.split("\n"), ""), 1):
        reader.read(line, number)
    if reader.problems:
        raise GenieError(reader.problems, sources={file: text})
    return tuple(reader.meanings)


class _FrameReader:
    def __init__(self, file: str):
        self.file = file
        self.problems: list[Problem] = []
        self.meanings: list[Meaning] = []
        self._section = ""
        self._sides: tuple[list[PhraseFrame], list[PhraseFrame]] = ([], [])
        self._seen: dict[tuple[str, str, tuple[str, ...]], Span] = {}

    def read(self, line: str, number: int) -> None:
        text = line.strip()
        if not text:
            self._end()
        elif text.startswith("["):
            self._end()
            self._begin(text, number)
        elif not text.startswith("#"):
            if not self._section:
                self._fail("P120", "a frame outside of a section", number, 0, text, "[commands]")
            left, slash, right = line.partition(" / ") if " / " in line else _only_side(line)
            for side, frames, start in (
                (left, self._sides[0], 0),
                (right, self._sides[1], len(left) + len(slash)),
            ):
                if side.strip():
                    self._add(side, frames, number, start)

    def _begin(self, text: str, number: int) -> None:
        self._section = text.strip("[]")
        if text != f"[{self._section}]" or self._section not in SECTIONS:
            hint = did_you_mean(self._section, SECTIONS) or f"one of {', '.join(SECTIONS)}"
            self._fail("P120", f"no section {text}", number, 0, text, hint)

    def _add(self, side: str, frames: list[PhraseFrame], number: int, start: int) -> None:
        phrase = side.strip().removeprefix("~")
        words = tuple(
            token
            for word in phrase.split()
            for token in ((word,) if word in PLACES else tokenize(word))
        )
        column = start + len(side) - len(side.lstrip())
        span = Span(self.file, number, column + 1, number, column + 1 + len(side.strip()))
        frame = PhraseFrame(words, phrase == side.strip(), span)
        first = next((earlier for earlier in (*self._sides[0], *self._sides[1])), frame)
        if sorted(frame.places) != sorted(first.places):
            message = f"places {' '.join(frame.places) or 'none'}"
            hint = f"the first frame of the paragraph has {' '.join(first.places) or 'none'}"
            self._fail("P121", message, number, column, side.strip(), hint)
        elif len(set(frame.places)) < len(frame.places) or len(words) == len(frame.places):
            hint = "each place once, and words beside them"
            self._fail("P121", "no frame", number, column, side.strip(), hint)
        # A vague one may mean several things.
        place = "" if frame.is_written else str(len(self.meanings))
        key = place, self._section, frame.words
        if key in self._seen:
            message = f"it stands in line {self._seen[key].line} already"
            self._fail("P122", message, number, column, side.strip(), "leave one of them out")
        self._seen.setdefault(key, span)
        frames.append(frame)

    def _end(self) -> None:
        same, opposite = map(tuple, self._sides)
        self._sides = ([], [])
        if len(same) + len(opposite) == 1:
            (only,) = same + opposite
            hint = "add another way to say it, or its opposite behind a slash"
            self.problems.append(
                Problem("P123", "one frame alone says nothing of others", only.span, hint)
            )
        elif same or opposite:
            self.meanings.append(Meaning(self._section, same, opposite))

    def _fail(self, code: str, message: str, line: int, at: int, text: str, hint: str) -> None:
        span = Span(self.file, line, at + 1, line, at + 1 + len(text))
        self.problems.append(Problem(code, message, span, hint, stage="syntax"))


def _only_side(line: str) -> tuple[str, str, str]:
    """Return the two sides of a line that has one of them: "/ turn it off" the second."""
    slash = line.lstrip().startswith("/ ")
    return ("", "", line.replace("/ ", "  ", 1)) if slash else (line, "", "")


# -------------------------------------------------------------------------------- rewriting


class FrameSet:
    """The frames of a language, ready to rewrite sentences.

    Attributes:
        meanings: as they were read.
    """

    def __init__(self, meanings: Iterable[Meaning] = ()):
        """Keep the frames; they are indexed when they are first needed."""
        self.meanings = tuple(meanings)
        self._rules: dict[tuple[int, _Pairing], RuleSet] = {}

    def __bool__(self) -> bool:
        return bool(self.meanings)

    @cached_property
    def rules(self) -> RuleFile:
        """Return the rewrites between written wordings, for paraphrases."""
        return RuleFile(tuple(_rules(self.meanings, _written_by_written)))

    @cached_property
    def words(self) -> frozenset[str]:
        """Return all words of the frames."""
        frames = (frame for x in self.meanings for frame in (*x.same, *x.opposite))
        return frozenset(word for frame in frames for word in frame.words)

    @cached_property
    def _by_word(self) -> Mapping[str, tuple[int, ...]]:
        """Return the meanings that have frames with a word, by the rarest word of each."""
        outputs: dict[str, dict[int, None]] = {}
        for number, meaning in enumerate(self.meanings):
            for frame in (*meaning.same, *meaning.opposite):
                rarest = min((x for x in frame.words if x not in PLACES), key=commonness)
                outputs.setdefault(rarest, {})[number] = None
        return {word: tuple(numbers) for word, numbers in outputs.items()}

    def same(self, sentence: Sequence[str], typed: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
        """Yield the sentences with the possible meanings of this one, each as tokens.

        Args:
            sentence: tokens, lower-case but for placeholders.
            typed: their written forms in the output; else as in the sentence.

        >>> frames = FrameSet(read_frames("[commands]\\n\\nsend X to Y\\n~ shoot Y X\\n"))
        >>> [" ".join(x) for x in frames.same("send the report to bob".split())]
        []
        >>> [" ".join(x) for x in frames.same("shoot bob the report".split())]
        ['send the report to bob']
        """
        yield from self._rewritten(_written_by_all, sentence, typed)

    def opposite(self, sentence: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Yield sentences that mean the opposite of this one.

        >>> frames = FrameSet(read_frames("[commands]\\n\\nopen X / close X\\n/ shut X\\n"))
        >>> [" ".join(x) for x in frames.opposite("open the blinds".split())]
        ['close the blinds', 'shut the blinds']
        """
        yield from self._rewritten(_other_side, sentence, ())

    def _rules_of(self, number: int, pairing: "_Pairing") -> RuleSet:
        key = number, pairing
        if key not in self._rules:
            rules = _rules([self.meanings[number]], pairing)
            self._rules[key] = rule_set(RuleFile(tuple(rules)))
        return self._rules[key]

    def _rewritten(
        self, pairing: "_Pairing", sentence: Sequence[str], typed: Sequence[str]
    ) -> Iterator[tuple[str, ...]]:
        text = " ".join(sentence)
        seen = {tuple(sentence)}
        numbers = {number for word in sentence for number in self._by_word.get(word, ())}
        keys = keys_of(text) if numbers else {}
        for number in sorted(numbers):
            for match in self._rules_of(number, pairing).fitting(text, keys):
                for output in match.compiled.outputs:
                    rewritten = _replace_match(match, output.parts, sentence)
                    rewritten = tuple(with_articles(" ".join(rewritten), text).split(" "))
                    if rewritten not in seen:
                        seen.add(rewritten)
                        yield _replace_match(match, output.parts, typed) if typed else rewritten


@lru_cache(maxsize=8)
def frames_of(language: str) -> FrameSet:
    """Return the shipped frames of a language, two letters; none where there are none.

    >>> bool(frames_of("en")), bool(frames_of("nl"))
    (True, False)
    """
    path = data_folder("locales") / f"{language}{_ENDING}"
    return FrameSet(read_frames(read_text(path), path.name) if path.is_file() else ())


def _replace_match(
    match: RuleMatch, output: Sequence[OutputPart], words: Sequence[str]
) -> tuple[str, ...]:
    """Return a sentence with an output in the place of a match, its tokens written as `words`."""
    place = match.place

    def between(start: int, end: int) -> Sequence[str]:
        before, inside = place.string[:start], place.string[start:end]
        first = before.count(" ")
        return words[first : first + inside.count(" ")]

    tokens = list(between(0, place.start()))
    for part in output:
        tokens += between(*place.span(f"v_{part.name}")) if isinstance(part, Ref) else [str(part)]
    return (*tokens, *between(place.end(), len(place.string)))


# ------------------------------------------------------------------------------ rules of them

_Pair = tuple[PhraseFrame, tuple[PhraseFrame, ...]]
_Pairing = Callable[[Meaning], Iterator[_Pair]]


def _rules(meanings: Iterable[Meaning], pairs_of: _Pairing) -> Iterator[RewriteRule]:
    """Yield the rules of each frame: one for all others that ask the same of its places."""
    for number, meaning in enumerate(meanings):
        of_meaning = (*meaning.same, *meaning.opposite)
        for index, (frame, others) in enumerate(pairs_of(meaning)):
            excluded = _of_longer_frames(frame, of_meaning)
            requests: dict[tuple[bool, frozenset[str]], list[PhraseFrame]] = {}
            for longer in others:
                key = not _keeps_end(frame, longer), _singular_places(longer)
                requests.setdefault(key, []).append(longer)
            for kind, ((is_short, singular), outputs) in enumerate(requests.items()):
                yield RewriteRule(
                    id=f"{_GROUP}/{_slug(frame)}-{number}-{index}-{kind}",
                    pattern=tuple(
                        _pattern(
                            frame, meaning.section, excluded, is_short=is_short, singular=singular
                        )
                    ),
                    outputs=tuple(tuple(_output(x)) for x in outputs),
                    kind="any",
                    weight=1.0,
                    unless=_NOT_OPEN if _is_open(frame, meaning.section) else frozenset(),
                    examples=(),
                    span=frame.span,
                )


def _slug(frame: PhraseFrame) -> str:
    return re.sub(r"[^a-z0-9]+", "-", " ".join(frame.words).lower()).strip("-")


def _keeps_end(frame: PhraseFrame, other: PhraseFrame) -> bool:
    """Return whether the end of a frame ends the other, too: it may be long there.

    "Turn on the lights in the hall" is never "turn the lights in the hall on".
    """
    last = frame.words[-1]
    return last not in PLACES or other.words[-1] == last


def _singular_places(frame: PhraseFrame) -> frozenset[str]:
    """Return the places beside a word in the singular: "how big is X", "X 's price"."""
    around = ("", *frame.words, "")
    return frozenset(
        word
        for before, word, after in zip(around, around[1:], around[2:], strict=False)
        if word in PLACES and not _SINGULAR.isdisjoint((before, after))
    )


def _of_longer_frames(
    frame: PhraseFrame, others: Iterable[PhraseFrame]
) -> dict[str, tuple[WordCondition, ...]]:
    """Return for each place the fillers that it excludes, as they belong to a longer frame.

    "Text X S" does not mean "text bob saying hello", which is "text X saying S".
    """
    fixed = {word for word in frame.words if word not in PLACES}
    fillers: dict[str, dict[WordCondition, None]] = {}
    for longer in others:
        if len(longer.words) > len(frame.words) and fixed.issubset(longer.words):
            for place, before, after in _taken_in(frame.words, longer.words):
                for name, words in (("starts", before), ("ends", after)):
                    if words:
                        condition = WordCondition(name, (" ".join(words),), negated=True)
                        fillers.setdefault(place, {})[condition] = None
    return {place: tuple(conditions) for place, conditions in fillers.items()}


_Taken = tuple[str, tuple[str, ...], tuple[str, ...]]


def _taken_in(frame: Sequence[str], longer: Sequence[str]) -> list[_Taken]:
    """Return the words that places of a frame take in where it is matched with a longer one.

    Each place stands for itself, with words before and behind it.

    >>> _taken_in("text X S".split(), "text X saying S".split())
    [('S', ('saying',), ())]
    """
    if not frame:
        return []
    if frame[0] not in PLACES:
        return _taken_in(frame[1:], longer[1:]) if longer[:1] == frame[:1] else []
    if frame[0] not in longer:
        return []
    offset = longer.index(frame[0])
    before, rest = tuple(longer[:offset]), longer[offset + 1 :]
    if any(word in PLACES for word in before):
        return []
    following = next((word for word in frame[1:2]), None)
    end = (
        len(rest)
        if following is None
        else next(
            (i for i, word in enumerate(rest) if word == following or following in PLACES), -1
        )
    )
    if end < 0 or any(word in PLACES for word in rest[:end]):
        return []
    own = [(frame[0], before, tuple(rest[:end]))] if before or end else []
    remaining = _taken_in(frame[1:], rest[end:])
    return [*own, *remaining] if remaining or len(frame) == 1 or frame[1:] == rest[end:] else []


def _pattern(
    frame: PhraseFrame,
    section: str,
    given: Mapping[str, tuple[WordCondition, ...]],
    *,
    is_short: bool,
    singular: frozenset[str],
) -> Iterator[PatternPart]:
    if section != "phrases":
        yield PatternEdge("^^" if section == "commands" else "^")
    for word in frame.words:
        if word not in PLACES:
            yield PatternChoice((word,))
            continue
        conditions = WordCondition(PLACES[word]), *given.get(word, ())
        if PLACES[word] == "np" and (section == "phrases" or is_short):
            conditions = (*conditions, _SHORT)
        if PLACES[word] == "np" and word in singular:
            conditions = (*conditions, _NO_PLURAL)
        if _is_open(frame, section) and word == frame.words[0]:
            conditions = (*conditions, _NO_VERB)
        if section == "questions" and frame.words[0] == "what":
            conditions = (*conditions, _NO_DOING)
        yield Variable(word.lower(), conditions)
    yield PatternEdge("$" if section == "questions" else "$$")


def _is_open(frame: PhraseFrame, section: str) -> bool:
    """Return whether a frame begins with a place that could take in the words before it."""
    return section == "phrases" and frame.words[0] in PLACES


def _output(frame: PhraseFrame) -> Iterator[OutputPart]:
    yield from (Ref(word.lower()) if word in PLACES else word for word in frame.words)


def _written_frames(frames: Iterable[PhraseFrame]) -> tuple[PhraseFrame, ...]:
    return tuple(frame for frame in frames if frame.is_written)


def _written_by_written(meaning: Meaning) -> Iterator[_Pair]:
    for side in (meaning.same, meaning.opposite):
        yield from _others(_written_frames(side), _written_frames(side))


def _written_by_all(meaning: Meaning) -> Iterator[_Pair]:
    for side in (meaning.same, meaning.opposite):
        yield from _others(side, _written_frames(side))


def _other_side(meaning: Meaning) -> Iterator[_Pair]:
    yield from ((frame, _written_frames(meaning.opposite)) for frame in meaning.same)
    yield from ((frame, _written_frames(meaning.same)) for frame in meaning.opposite)


def _others(frames: Iterable[PhraseFrame], written: Sequence[PhraseFrame]) -> Iterator[_Pair]:
    for frame in frames:
        yield frame, tuple(partner for partner in written if partner is not frame)
