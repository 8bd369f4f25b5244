"""Reads lexicons: the shipped list, files of its format, PPDB's files, and WordNet through nltk.

The own format is TSV with a header: word, part of speech, replacement, source. Parts of speech are
those of `PARTS`; a verb, noun or adjective is given in its base form, and all its forms are made.
PPDB's format has fields between `|||`: a tag in brackets, phrase, paraphrase, features,
alignment, relation; its words are inflected already.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.paraphrase.lexical import Role, Substitution, SynonymLexicon, noun_forms, verb_forms
from genie_dp.resources import data_folder
from genie_dp.run.files import UNREADABLE, unreadable
from genie_dp.skills.words import join_tokens

# code -> what it says; docs/paraphrase.md has the same list
PARTS: Mapping[str, str] = {
    "v": "verb, in all its forms",
    "vb": "verb, in its base form only",
    "n": "noun, singular and plural",
    "a": "adjective, as it stands",
    "r": "adverb at the end of a phrase",
    "p": "preposition",
    "x": "anything, as it stands",
}
_HEADER = ("word", "part of speech", "replacement", "source")
# PPDB's relations; of the others, "ForwardEntailment" and so on, the meaning is not kept.
_SAME = frozenset(("Equivalence",))

_ROLES: tuple[tuple[str, Role], ...] = (
    ("VB", "vf"), ("NN", "n"), ("NP", "n"), ("JJ", "a"), ("ADJ", "a"), ("RB", "r"), ("ADV", "r"),
    ("IN", "p"),
)  # fmt: skip
_BAR = "|||"
_PLAIN = re.compile(r"[a-z][a-z'-]*(?: [a-z'-]+)*")  # no digits, and nothing like [1] inside
_MOST_SHOWN = 20

LexiconEntry = tuple[str, str, str, str]  # word, part of speech, replacement, source


@dataclass(frozen=True, slots=True)
class WordList:
    """A lexicon that is a list: see `lexical.Lexicon`."""

    forms: Mapping[str, tuple[Substitution, ...]]

    def starting(self, word: str) -> Sequence[Substitution]:
        """Return the forms whose words begin with that one, in the order of the list."""
        return self.forms.get(word, ())

    def __len__(self) -> int:
        return sum(len(forms) for forms in self.forms.values())


@lru_cache(maxsize=1)
def shipped_lexicon() -> WordList:
    """Return the shipped list of safe replacements."""
    return read_lexicon(data_folder("paraphrase/data") / "lexical.tsv")


def lexicon_named(name: str) -> SynonymLexicon | None:
    """Return the lexicon that users call so: shipped, wordnet, none, or a file or URL.

    Raises:
        GenieError: those of `read_lexicon`; WordNet is not installed.
    """
    match name:
        case "none":
            return None
        case "shipped":
            return shipped_lexicon()
        case "wordnet":
            return wordnet_lexicon()
        case _:
            return read_lexicon(name)


def lexicon_of(entries: Iterable[LexiconEntry]) -> WordList:
    """Return the lexicon of entries, with the forms of their words.

    >>> lexicon = lexicon_of([("buy", "v", "purchase", "own")])
    >>> [form.replacement for form in lexicon.starting("bought")]
    ['purchased']
    """
    return _word_list(form for entry in entries for form in forms_of(entry))


def _word_list(forms: Iterable[Substitution]) -> WordList:
    forms_by_word: dict[str, list[Substitution]] = {}
    for form in dict.fromkeys(forms):
        forms_by_word.setdefault(form.words[0], []).append(form)
    return WordList({first: tuple(forms) for first, forms in forms_by_word.items()})


def forms_of(entry: LexiconEntry) -> Iterator[Substitution]:
    """Yield the forms of an entry's word, each with that of its replacement."""
    word, part, replacement, source = entry
    pairs: Iterable[tuple[str, str, Role]] = ((word, replacement, cast("Role", part)),)
    if part == "v":
        pairs = verb_forms(word, replacement)
    elif part == "n":
        pairs = noun_forms(word, replacement)
    for text, other_form, role in pairs:
        yield Substitution(tuple(text.split()), other_form, role, source)


def read_lexicon(path: Path | str) -> WordList:
    """Return the lexicon of a file, compressed or not; PPDB's lines are known by their `|||`.

    Raises:
        GenieError: all mistakes of the file (P101 columns, P102 part of speech), no UTF-8 (R003),
            cut off or not packed as its name implies (R001), or nothing in it that can be
            used (P103).
    """
    forms: list[Substitution] = []
    problems: list[Problem] = []
    for number, line in enumerate(_lines(str(path)), 1):
        read = _ppdb_forms if _BAR in line else _tsv_forms
        try:
            forms.extend(read(line, str(path), number))
        except GenieError as error:
            problems.extend(error.problems)
    if problems:
        raise GenieError(problems[:_MOST_SHOWN])
    if not forms:
        hint = "give tab-separated word, part of speech, replacement, source, or a PPDB file"
        raise GenieError(
            Problem("P103", f"{path} holds no replacement that can be used", hint=hint)
        )
    return _word_list(forms)


def _lines(path: str) -> Iterator[str]:
    import smart_open

    number = 0
    try:
        with smart_open.open(path, encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):  # noqa: B007 - for the message below
                yield line.rstrip("\r\n")
    except UnicodeDecodeError:
        span = Span(path, number + 1, 1, number + 1, 2)
        hint = "save the file as UTF-8"
        raise GenieError(Problem("R003", "expected UTF-8 text", span, hint)) from None
    except UNREADABLE as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise GenieError(unreadable(path, error, code="R001")) from None


def _tsv_forms(line: str, file: str, number: int) -> Iterator[Substitution]:
    if not line.strip() or line.startswith("#"):
        return
    parts = tuple(part.strip() for part in line.split("\t"))
    if parts == _HEADER:
        return
    span = Span(file, number, 1, number, len(line) + 1)
    if len(parts) != len(_HEADER) or not all(parts):
        message = f"expected {', '.join(_HEADER)} between tabs, got {len(parts)} columns"
        raise GenieError(Problem("P101", message, span, "no column may be empty"))
    word, part, replacement, source = parts
    if part not in PARTS:
        column = line.index("\t") + 2
        span = Span(file, number, column, number, column + len(part))
        hint = did_you_mean(part, PARTS) or f"one of {', '.join(PARTS)}"
        raise GenieError(Problem("P102", f"expected a part of speech, got {part!r}", span, hint))
    yield from forms_of((join_tokens(word), part, join_tokens(replacement), source))


def _ppdb_forms(line: str, file: str, number: int) -> Iterator[Substitution]:
    fields = [field.strip() for field in line.split(_BAR)]
    tag = re.fullmatch(r"\[([A-Z$.,:/\\-]+)\]", fields[0])
    if len(fields) < 4 or tag is None:
        span = Span(file, number, 1, number, len(line) + 1)
        message = "expected [TAG] ||| phrase ||| paraphrase ||| features, as in PPDB's files"
        raise GenieError(Problem("P101", message, span))
    phrase, paraphrase = join_tokens(fields[1]), join_tokens(fields[2])
    is_equivalent = len(fields) < 6 or fields[5] in _SAME
    is_plain = all(_PLAIN.fullmatch(text) for text in (phrase, paraphrase))
    if is_equivalent and is_plain and phrase != paraphrase:
        yield Substitution(tuple(phrase.split()), paraphrase, _role(tag[1]), "ppdb")


def _role(tag: str) -> Role:
    """Return the role of a tag of the Penn treebank; PPDB names verb phrases [VP], [S\\NP]..."""
    if tag in ("VB", "VBP", "VP"):
        return "vb"
    for prefix, role in _ROLES:
        if tag.startswith(prefix):
            return role
    return "x"


_LEAST_LETTERS = 4
_PARTS = {"n": "n", "v": "v", "a": "a", "s": "a", "r": "r"}


@dataclass(frozen=True, slots=True)
class WordNetLexicon:
    """A lexicon that asks WordNet and keeps the answers: see `lexical.Lexicon`."""

    wordnet: Any
    looked_up_forms: dict[str, tuple[Substitution, ...]] = field(default_factory=dict)

    def starting(self, word: str) -> Sequence[Substitution]:
        """Return the synonyms of a word, in WordNet's order."""
        if word not in self.looked_up_forms:
            is_word = len(word) >= _LEAST_LETTERS and word.isalpha() and word.islower()
            self.looked_up_forms[word] = tuple(self._forms(word)) if is_word else ()
        return self.looked_up_forms[word]

    def _forms(self, word: str) -> Iterator[Substitution]:
        lemmas = {part: self.wordnet.morphy(word, part) for part in "nvar"}
        lemma_by_part = {part: lemma for part, lemma in lemmas.items() if lemma}
        if len(lemma_by_part) != 1:
            return
        [(part, lemma)] = lemma_by_part.items()
        meanings = self.wordnet.synsets(lemma, part)
        for synonym in meanings[0].lemma_names() if meanings else ():
            name = synonym.replace("_", " ")
            if name != lemma and name.islower() and name.replace(" ", "").isalpha():
                entry: LexiconEntry = (lemma, _PARTS[meanings[0].pos()], name, "wordnet")
                yield from (form for form in forms_of(entry) if form.words == (word,))


def wordnet_lexicon() -> WordNetLexicon:
    """Return the lexicon of the WordNet that nltk finds.

    Raises:
        GenieError: nltk is not installed (P104), or has no WordNet (P105).
    """
    try:
        from nltk.corpus import wordnet
    except ImportError:
        hint = "pip install 'genie_dp[nltk]'"
        raise GenieError(Problem("P104", "WordNet needs nltk", hint=hint)) from None
    try:
        wordnet.ensure_loaded()
    except LookupError:
        hint = "python -m nltk.downloader wordnet, or set NLTK_DATA to where it lies"
        raise GenieError(Problem("P105", "nltk has no WordNet", hint=hint)) from None
    return WordNetLexicon(wordnet)
