"""Prompts: texts with fields that users may replace, and how an answer becomes a sentence.

A prompt is made of metadata that was released with noise, of donated examples and of earlier
candidates. There is no way to put a private row in: `Prompt` is made here alone, of these types.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Literal, Protocol

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.private.evolution.answers import read_answer
from genie_dp.private.evolution.config import ModelRecipe, PromptRecipe
from genie_dp.private.evolution.generator import (
    Donated,
    Metadata,
    Pool,
    VoteCandidate,
    refuse_private_candidate,
)
from genie_dp.private.generators.codes import OTHER as OTHER_CODE
from genie_dp.private.generators.rows import ProgramSource, check_program
from genie_dp.private.tables.schema import OTHER
from genie_dp.records import Example
from genie_dp.resources import data_folder
from genie_dp.rng import stream
from genie_dp.skills.words import join_tokens
from genie_dp.texts import read_text

Style = Literal["complete", "chat"]
Variation = Literal["continue", "fill", "rephrase"]
GAP = "___"

# section -> the fields that it may have, and the one that it must have
_SECTIONS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "system": ((), ""),
    "opening": ((), ""),
    "random": (("metadata", "examples"), ""),
    "example": (("metadata", "sentence"), "sentence"),
    "rephrase": (("metadata", "sentence", "percent"), "sentence"),
    "fill": (("metadata", "gaps", "examples"), "gaps"),
    "fill example": (("metadata", "gaps", "sentence"), "sentence"),
}
_HEADING = re.compile(r"\[([a-z ]+)\]\s*")
_FIELD = re.compile(r"\{([^{}\n]*)\}")
_COLUMN = "column."
_PLAIN_VALUE = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt of a model.

    Attributes:
        text: a question, or a text to go on with.
        system: how it is to answer; "" for models that only go on with text.
        begun: words with which the answer begins; the text ends with them.
        opening: the beginning of the answer of a chat, where a model can be given one: a quotation
            mark leaves no room for "Sure! Here is ..".
    """

    text: str
    system: str = ""
    begun: str = ""
    opening: str = ""


@dataclass(frozen=True, slots=True)
class Templates:
    """The texts of prompts by section."""

    sections: Mapping[str, str]

    def render(self, section: str, values: Mapping[str, str], metadata: Metadata) -> str:
        """Return a section with its fields; a line whose fields are all empty is left out."""
        texts = {**values, "metadata": describe_metadata(metadata)}

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name.startswith(_COLUMN):
                return _spell_value(metadata.get(name.removeprefix(_COLUMN), ""))
            return texts.get(name, "")

        lines = []
        for line in self.sections.get(section, "").split("\n"):
            fields = list(_FIELD.finditer(line))
            if not fields or any(map(value, fields)):
                lines.append(_FIELD.sub(value, line))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def describe_metadata(metadata: Metadata) -> str:
    """Return a record of metadata as text.

    >>> describe_metadata({"intent": "card_arrival", "length": "short", "skill": "<other>"})
    'intent: card arrival; length: short'
    """
    texts = {column: _spell_value(value) for column, value in metadata.items()}
    return "; ".join(f"{column}: {value}" for column, value in texts.items() if value)


def _spell_value(value: str) -> str:
    if value == OTHER:
        return ""
    return value.replace("_", " ") if _PLAIN_VALUE.fullmatch(value) else value


def shipped_templates(style: Style) -> Templates:
    """Return the texts that are shipped for models that go on with text, or for those that chat."""
    path = data_folder("private/evolution/prompts") / f"{style}.txt"
    return parse_templates(read_text(path), str(path))


def load_templates(path: Path, style: Style) -> Templates:
    """Return the shipped texts, with those of a file in their place.

    Raises:
        GenieError: see `parse_templates`.
    """
    own = parse_templates(read_text(path), str(path))
    return Templates({**shipped_templates(style).sections, **own.sections})


def parse_templates(text: str, file: str = "<prompts>") -> Templates:
    """Return the sections of a text.

    Raises:
        GenieError: a section or field that is none (U500), or a section without the field that it
            is about (U501).
    """
    sections: dict[str, list[str]] = {}
    problems: list[Problem] = []
    heads: dict[str, Span] = {}
    name = ""
    for number, line in enumerate(text.split("\n"), 1):
        if head := _HEADING.fullmatch(line):
            name = head[1]
            heads[name] = span = Span(file, number, 1, number, len(line) + 1)
            sections[name] = []
            if name not in _SECTIONS:
                problems.append(_unknown(f"section [{name}]", name, _SECTIONS, span))
            continue
        if not name and line.strip():
            message = "expected a heading such as [random] before any text"
            raise GenieError(Problem("U500", message, Span(file, number, 1, number, len(line) + 1)))
        if name in _SECTIONS:
            problems.extend(_wrong_fields(line, number, name, file))
            sections[name].append(line)
    for name, lines in sections.items():
        _, needed = _SECTIONS.get(name, ((), ""))
        if needed and f"{{{needed}}}" not in "\n".join(lines):
            message = f"[{name}] does not hold {{{needed}}}"
            problems.append(Problem("U501", message, heads[name]))
    if problems:
        raise GenieError(problems, sources={file: text})
    return Templates({name: "\n".join(lines).strip() for name, lines in sections.items()})


def _wrong_fields(line: str, number: int, section: str, file: str) -> list[Problem]:
    fields, _ = _SECTIONS[section]
    return [
        _unknown(
            f"field {match[0]} in [{section}]",
            match[1],
            fields,
            Span(file, number, match.start() + 1, number, match.end() + 1),
        )
        for match in _FIELD.finditer(line)
        if match[1] not in fields and not (match[1].startswith(_COLUMN) and "metadata" in fields)
    ]


def _unknown(
    what: str, name: str, choices: Sequence[str] | Mapping[str, object], place: Span
) -> Problem:
    hint = did_you_mean(name, choices) or f"there are: {', '.join(choices) or 'none'}"
    return Problem("U500", f"there is no {what}", place, hint)


@dataclass(frozen=True, slots=True)
class Prompter:
    """Makes prompts of metadata, donated examples and earlier candidates.

    Attributes:
        templates: the texts.
        style: whether the model goes on with text, or chats.
        donated: examples to choose from.
        columns: public values by column, as the schema of a table has them; where it is given, no
            other value gets into a prompt.
        recipe: content of prompts, and how candidates are varied.
    """

    templates: Templates
    style: Style = "complete"
    donated: Pool[Donated] = field(default_factory=lambda: Pool(()))
    columns: Mapping[str, Sequence[str]] | None = None
    recipe: PromptRecipe = PromptRecipe()

    def __post_init__(self) -> None:
        """Refuse variations that a chat cannot give (U506), and columns that are none (U500)."""
        if self.style == "chat" and self.recipe.variation == "continue":
            message = "a model that chats does not go on with a sentence"
            hint = "take the variation fill or rephrase"
            raise GenieError(Problem("U506", message, hint=hint))
        if self.columns is None:
            return
        for section, text in self.templates.sections.items():
            for match in _FIELD.finditer(text):
                column = match[1].removeprefix(_COLUMN)
                if match[1].startswith(_COLUMN) and column not in self.columns:
                    message = f"there is no column {column!r} for {match[0]} in [{section}]"
                    near = did_you_mean(column, self.columns)
                    raise GenieError(Problem("U500", message, hint=near))

    @property
    def way(self) -> Variation:
        """Return how candidates are varied.

        "continue" keeps the first words and has the model go on; "fill" has it fill gaps;
        "rephrase" has it rephrase the sentence.
        """
        return self.recipe.variation or ("rephrase" if self.style == "chat" else "continue")

    def random(self, metadata: Metadata, rng: Random) -> Prompt:
        """Return the prompt for a new sentence.

        Raises:
            GenieError: a value that the table's columns do not have (U504).
        """
        facts = self._check_metadata(metadata)
        values = {"examples": self._examples("example", metadata, rng, strength=0.0)}
        return self._prompt(self.templates.render("random", values, facts))

    def vary(self, candidate: VoteCandidate, strength: float, rng: Random) -> Prompt:
        """Return the prompt for a variation; 0 < strength <= 1 is the share of words that change.

        Raises:
            GenieError: as for `random`.
        """
        refuse_private_candidate(candidate)
        words = candidate.example.utterance.split()
        facts = self._check_metadata(candidate.metadata)
        match self.way:
            case "continue":
                prompt, begun = (
                    self.random(candidate.metadata, rng),
                    _first_words(candidate, strength),
                )
                text = f"{prompt.text} {begun}".rstrip()
                return Prompt(text, prompt.system, begun)
            case "fill":
                gaps = with_gaps(words, strength, rng)
                examples = self._examples("fill example", candidate.metadata, rng, strength)
                values = {"gaps": gaps, "examples": examples}
                return self._prompt(self.templates.render("fill", values, facts))
            case "rephrase":
                percent = str(round(100 * strength))
                values = {"sentence": " ".join(words), "percent": percent}
                return self._prompt(self.templates.render("rephrase", values, facts))

    def fingerprint(self) -> str:
        """Return a hash of texts, examples and settings."""
        donated = [
            (x.utterance, sorted(x.metadata.items()), x.program) for x in self.donated.members
        ]
        parts = (
            sorted(self.templates.sections.items()), self.style, self.way, donated,
            self.recipe.shots, sorted(self.donated.labels), sorted((self.columns or {}).items()),
            self.recipe.with_metadata,
        )  # fmt: skip
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def _prompt(self, text: str) -> Prompt:
        if self.style == "complete":
            return Prompt(text)
        system, opening = (self.templates.render(name, {}, {}) for name in ("system", "opening"))
        return Prompt(text, system, opening=opening)

    def _examples(self, section: str, metadata: Metadata, rng: Random, strength: float) -> str:
        matched = metadata if self.recipe.with_metadata else {}
        closest = self.donated.nearest(matched, self.recipe.shots, rng)
        # The best match last: models follow what they read last most.
        return "\n\n".join(
            self.templates.render(
                section,
                {
                    "sentence": example.utterance,
                    "gaps": with_gaps(example.utterance.split(), strength, rng),
                },
                self._check_metadata(example.metadata, is_example=True),
            )
            for example in reversed(closest)
        )

    def _check_metadata(self, metadata: Metadata, *, is_example: bool = False) -> Metadata:
        """Return the metadata of a record for a prompt, after a check of its values (U504)."""
        if not self.recipe.with_metadata:
            return {}
        if self.columns is None:
            return metadata
        if is_example:
            # Donated rows may have more columns than the table.
            return {c: v for c, v in metadata.items() if c in self.columns}
        for column, value in metadata.items():
            if value not in self.columns.get(column, ()):
                # The value is not shown: it is no public one.
                message = f"a value of column {column!r} is none of the table's public values"
                raise GenieError(Problem("U504", message, hint="take metadata of the DP table"))
        return metadata


@dataclass(frozen=True, slots=True)
class CodePrompter:
    """Gives a model its control code and the words that a candidate keeps.

    Attributes:
        codes: those that the model knows, none for a model without.
        weights: how often it was released that they come; for records that name none.
        column: of the metadata, the one that holds codes.
        donated: examples that may take the place of a sentence that was not made.
    """

    codes: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    column: str = ""
    donated: Pool[Donated] = field(default_factory=lambda: Pool(()))

    def random(self, metadata: Metadata, rng: Random) -> Prompt:
        """Return the prompt for a new sentence: the code alone."""
        return Prompt(self._code(metadata, rng))

    def vary(self, candidate: VoteCandidate, strength: float, rng: Random) -> Prompt:
        """Return the prompt for a variation, which keeps the first words."""
        refuse_private_candidate(candidate)
        begun = _first_words(candidate, strength)
        return Prompt(self._code(candidate.metadata, rng), begun=begun)

    def fingerprint(self) -> str:
        """Return a hash of the codes."""
        donated = [example.utterance for example in self.donated.members]
        parts = (self.codes, self.weights, self.column, donated)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def _code(self, metadata: Metadata, rng: Random) -> str:
        if not self.codes:
            return ""
        value = metadata.get(self.column)
        if value is None:
            [value] = rng.choices(self.codes, self.weights or None)
        return value if value in self.codes else OTHER_CODE


Asking = Prompter | CodePrompter


def _first_words(candidate: VoteCandidate, strength: float) -> str:
    """Return the words of a candidate that a variation begins with."""
    words = candidate.example.utterance.split()
    return " ".join(words[: len(words) - count_changes(words, strength)])


def count_changes(words: Sequence[str], strength: float) -> int:
    """Return how many words change: at least one."""
    return min(len(words), max(1, round(strength * len(words))))


def with_gaps(words: Sequence[str], strength: float, rng: Random) -> str:
    """Return a sentence with gaps in place of a share of its words.

    >>> from genie_dp.rng import stream
    >>> with_gaps(["wake", "me", "up"], 1.0, stream(0)), with_gaps(["hi"], 0.0, stream(0))
    ('___', 'hi')
    """
    if strength <= 0 or not words:
        return " ".join(words)
    hidden = set(rng.sample(range(len(words)), count_changes(words, strength)))
    pieces = [GAP if i in hidden else word for i, word in enumerate(words)]
    joined = [
        word for i, word in enumerate(pieces) if word != GAP or i == 0 or pieces[i - 1] != GAP
    ]
    return " ".join(joined)


def read_sentence(answer: str, prompt: Prompt, most_words: int) -> str:
    r"""Return the one sentence of an answer, as private rows have it; "" where there is none.

    Args:
        answer: of a model.
        prompt: its prompt.
        most_words: longer sentences count as none.

    >>> read_sentence(' "Wake me up"\nSaid: bye', Prompt("Said:"), 40)
    'wake me up'
    >>> read_sentence("up", Prompt("Said: wake me", begun="wake me"), 40)
    'wake me up'
    """
    if prompt.begun:
        first = next((line.strip() for line in answer.splitlines() if line.strip()), "")
        text = f"{prompt.begun} {first}"
    else:
        text = read_answer(answer, f"{prompt.system}\n{prompt.text}".splitlines())
    text = join_tokens(text)
    is_sentence = any(c.isalnum() for c in text) and GAP not in text
    return text if is_sentence and len(text.split()) <= most_words else ""


class Completer(Protocol):
    """Answers prompts.

    One that learned of private rows has a `run`, under which a ledger knows of that.
    """

    @property
    def name(self) -> str:
        """Return the name of the model, such as "model:gpt2"."""
        ...

    def complete(self, prompts: Sequence[Prompt], draws: Sequence[str]) -> list[str]:
        """Return one answer to each prompt.

        Args:
            prompts: the questions.
            draws: a name for each draw; the same prompts and names give the same answers.
        """
        ...

    def fingerprint(self) -> str:
        """Return a hash of all that the answers depend on."""
        ...


@dataclass(frozen=True, slots=True)
class ProgramWriter:
    """How sentences get programs.

    Attributes:
        parser: gives each sentence a program, "" where it knows none.
        name: of the parser, for the fingerprint.
        language: of the programs.
        library: skills or declarations that programs are checked against.
    """

    parser: ProgramSource
    name: str
    language: Language
    library: Library | None = None

    def examples(self, sentences: Sequence[str]) -> list[Example | None]:
        """Return each sentence with its program, None where it has none that is well-typed."""
        spoken_sentences = [sentence for sentence in sentences if sentence]
        programs = iter(self.parser.predict(spoken_sentences) if spoken_sentences else [])
        examples: list[Example | None] = []
        for sentence in sentences:
            program = next(programs) if sentence else ""
            if program and (checked := check_program(program.split(), self.language, self.library)):
                example = Example(
                    "", sentence, checked.program, self.language.name,
                    functions=checked.functions, slots=checked.slots,
                )  # fmt: skip
                examples.append(example)
            else:
                examples.append(None)
        return examples


@dataclass(slots=True)
class PromptCounts:
    """Counts of prompts and of their answers; none of it is secret.

    Attributes:
        prompts: how many were asked.
        unusable: answers that were no sentence, too long, or without a program.
        unvaried: variations that stayed their parent after all tries.
        borrowed: new sentences that had to be those of the nearest other record or example.
    """

    prompts: int = 0
    unusable: int = 0
    unvaried: int = 0
    borrowed: int = 0


@dataclass(frozen=True, slots=True)
class PromptedGenerator:
    """Candidates from a language model; a Generator.

    An answer without a sentence is asked for again, up to `tries` of the recipe. Then a variation
    stays its parent; a new sentence is that of the nearest donated example or of the record nearest
    to it, and both are counted.

    Attributes:
        completer: answers prompts.
        prompter: makes them.
        recipe: how often it is asked, and how long sentences are.
        programs: where they come from; None for rows without.
        tally: counts of prompts and answers.
    """

    completer: Completer
    prompter: Asking
    recipe: ModelRecipe = ModelRecipe()
    programs: ProgramWriter | None = None
    tally: PromptCounts = field(default_factory=PromptCounts)

    @property
    def name(self) -> str:
        """Return the name of the model."""
        return self.completer.name

    def fingerprint(self) -> str:
        """Return a hash of the model, the prompts and how answers are read."""
        programs = self.programs
        parts = (
            self.completer.fingerprint(), self.prompter.fingerprint(), self.recipe.most_words,
            self.recipe.tries, (programs.name, programs.language.name) if programs else None,
        )  # fmt: skip
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def random(self, metadata: Sequence[Metadata], *, seed: int) -> list[VoteCandidate]:
        """Return one candidate for each record; see Generator.

        Raises:
            GenieError: the model never gives a sentence (U505); U504 of the prompter; those of the
                completer.
        """
        requests = {i: partial(self.prompter.random, row) for i, row in enumerate(metadata)}
        examples = self._ask("random", requests, seed)
        if metadata and not examples and not self.prompter.donated.members:
            message = f"none of {len(metadata)} prompts was answered with a sentence by {self.name}"
            hint = "read an answer, then change the prompt, the model or the limit of words"
            raise GenieError(Problem("U505", message, hint=hint))
        candidates = {
            i: VoteCandidate(example, dict(metadata[i])) for i, example in examples.items()
        }
        own = list(candidates.values())
        return [
            candidates[i] if i in candidates else self._borrow(record, own, seed, i)
            for i, record in enumerate(metadata)
        ]

    def vary(
        self, candidates: Sequence[VoteCandidate], strength: float, *, seed: int
    ) -> list[VoteCandidate]:
        """Return one variation of each candidate; itself where `strength` is 0. See Generator.

        Raises:
            GenieError: those of the completer.
        """
        for candidate in candidates:
            refuse_private_candidate(candidate)
        if strength == 0:
            return list(candidates)
        requests = {
            i: partial(self.prompter.vary, candidate, strength)
            for i, candidate in enumerate(candidates)
        }
        variations = self._ask("vary", requests, seed)
        self.tally.unvaried += len(candidates) - len(variations)
        return [
            VoteCandidate(variations[i], candidate.metadata) if i in variations else candidate
            for i, candidate in enumerate(candidates)
        ]

    def report(self) -> dict[str, float]:
        """Return figures of the work, with those of a model that has some."""
        tally = self.tally
        figures: dict[str, float] = {
            "prompts": tally.prompts,
            "unusable answers": tally.unusable,
            "variations that stayed the same": tally.unvaried,
            "sentences borrowed": tally.borrowed,
        }
        if (report := getattr(self.completer, "report", None)) is not None:
            figures |= report()
        return figures

    def _ask(
        self, kind: str, requests: Mapping[int, Callable[[Random], Prompt]], seed: int
    ) -> dict[int, Example]:
        """Return the examples of the answers, by the number of the request that made the prompt."""
        examples: dict[int, Example] = {}
        for attempt in range(self.recipe.tries):
            missing = [i for i in requests if i not in examples]
            if not missing:
                break
            names = [f"{seed}:{kind}:{i}:{attempt}" for i in missing]
            prompts = [
                requests[i](stream(name, "prompt")) for i, name in zip(missing, names, strict=True)
            ]
            answers = self.completer.complete(prompts, names)
            sentences = [
                read_sentence(answer, prompt, self.recipe.most_words)
                for answer, prompt in zip(answers, prompts, strict=True)
            ]
            answered = {
                i: example
                for i, example in zip(missing, self._examples(sentences), strict=True)
                if example
            }
            self.tally.prompts += len(missing)
            self.tally.unusable += len(missing) - len(answered)
            examples |= answered
        return examples

    def _examples(self, sentences: Sequence[str]) -> Sequence[Example | None]:
        if self.programs is not None:
            return self.programs.examples(sentences)
        return [Example("", sentence, "") if sentence else None for sentence in sentences]

    def _borrow(
        self, metadata: Metadata, candidates: Sequence[VoteCandidate], seed: int, index: int
    ) -> VoteCandidate:
        """Return the candidate nearest to a record, of those that were made and those donated."""
        self.tally.borrowed += 1
        donated = (
            VoteCandidate(Example("", example.utterance, example.program), example.metadata)
            for example in self.prompter.donated.members
        )
        pool = Pool([*candidates, *donated])
        closest = pool.nearest(metadata, 1, stream(seed, "borrowed", index))[0]
        return VoteCandidate(closest.example, dict(metadata))
