"""Asking a parser, as a stage: sentences from anywhere, programs for people or as JSON."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from genie_dp.errors import GenieError, Problem, Span, problem_at
from genie_dp.languages import get_language
from genie_dp.languages.library import Library
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.languages.thingtalk.sql import Database, Place
from genie_dp.languages.thingtalk.tables import Tables, read_tables
from genie_dp.locale import DEFAULT, LOCALE, Locale, locale_from
from genie_dp.located import read_located
from genie_dp.parser import folder as files
from genie_dp.parser.answers import DERIVED, Answer, Reply
from genie_dp.parser.config import ParseConfig
from genie_dp.parser.derivations import LazyTemplates
from genie_dp.parser.forms import TEXT_FORMS, in_form
from genie_dp.parser.parser import Parser, Use
from genie_dp.parser.reading.said import SentenceReader
from genie_dp.run.collector import leave_to_the_end
from genie_dp.run.stage import Result
from genie_dp.skills.data_tables import connect, data_places
from genie_dp.skills.model import SkillLibrary
from genie_dp.synthesis.describe import Describer
from genie_dp.synthesis.spoken import ValueFinder, engine_tokens
from genie_dp.templates.cache import load_inputs as shipped_inputs
from genie_dp.templates.inputs import Inputs
from genie_dp.texts import read_text

LoadInputs = Callable[[str, Sequence[Path]], Inputs]
"""Reads the templates that describe programs: of a language, with these skills."""


_NOT_VALIDATED = (
    "note: the confidence of {folder} is fitted to made sentences only; "
    "genie-dp data calibrate {folder} ROWS fits it to real ones"
)


# A placeholder with what its value is: GENERIC_ENTITY_com.x:book_0, DATE_0.
_SLOT = re.compile(r"\b(?:GENERIC_ENTITY_[\w.-]+:|(?=[A-Z]))(\w+?)_\d+\b")
# Less is noise to a person: "delete a note" for "turn off the lights".
_WORTH_SAYING = 0.05  # confidence


class English:
    """Expresses programs, and the nearest template to a sentence, in the words of templates."""

    def __init__(self, templates: LazyTemplates, library: Library, locale: Locale = LOCALE):
        self.templates, self.library, self.locale = templates, library, locale
        self._sentences: ValueFinder | None = None
        self._describer: Describer | None = None

    @property
    def sentences(self) -> ValueFinder:
        """Return the reader of sentences by the templates, indexed when it is first used."""
        if self._sentences is None:
            language = get_language(self.library.language)
            values = SentenceReader(language, self.library, now=datetime.now(), locale=self.locale)
            indexed = self.templates.index(self.library, values)
            self._sentences = ValueFinder(indexed, values)
        return self._sentences

    def nearest(self, sentence: str) -> str:
        """Return the template with most words of a refused sentence, and its missing words.

        "" if no template has any of them.
        """
        sentences = self.sentences
        values = sentences.reader
        placeholders = sentences.compiled.placeholders
        read = sentences.guess(sentence)
        tokens = engine_tokens(read.tokens, placeholders)
        names = {
            token
            for token, token_read in zip(tokens, read.tokens, strict=True)
            if token_read.startswith("GENERIC_ENTITY_")
        }
        template = sentences.function_words.nearest_template(
            tokens, values.content_words(read.tokens), names
        )
        if template is None:
            return ""
        telling = {
            *values.content_words(template.missing),
            *map(itemgetter(0), placeholders.names(template.words)),
        }
        best, *missing = (
            _SLOT.sub(lambda found: f"<{found[1].lower()}>", placeholders.show(words))
            for words in (template.words, *(word for word in template.missing if word in telling))
        )
        quoted = f'"{best}" ({", ".join(template.functions)})'
        lacks = f"; the sentence has no {', '.join(map(repr, missing))}" if missing else ""
        rest = ", ".join(map(repr, template.left_out))
        return f"{quoted}{lacks}" + (f"; the template has no {rest}" if rest else "")

    def confirm(self, program: str) -> str:
        """Return an assistant's announcement of a program (`Describer.confirm`)."""
        functions = frozenset(get_language(self.library.language).form(program).functions)
        describer = self._describer
        if describer is None:  # most sessions say one program
            describer = Describer(self.sentences.compiled, self.library, functions=functions)
        elif describer.functions and not functions <= describer.functions:
            describer = Describer(self.sentences.compiled, self.library)
        self._describer = describer
        return describer.confirm(program)


@dataclass(frozen=True, slots=True)
class ParseSession:
    """A parser, with English, data and names for its programs.

    Attributes:
        count: programs of each sentence, at most.
        english: describes programs in English; None for no descriptions.
        tables: rows that queries answer; None if programs are not to be run.
        names: kind of entity -> names that belong to the user.
    """

    parser: Parser
    count: int = 1
    english: English | None = None
    tables: Tables | Database | None = None
    names: Mapping[str, Sequence[str]] | None = None

    @classmethod
    def from_folder(
        cls,
        config: ParseConfig,
        folder: Path,
        *,
        load_inputs: LoadInputs | None = None,
        device: str = "cpu",
    ) -> Self:
        """Read the parser of a folder, on one thread: it is as fast.

        Args:
            load_inputs: reads the templates that describe programs; None for those of the parser,
                or the shipped ones.

        Raises:
            GenieError: no such device (N008), no parser (N010, N011).
        """
        beam = config.beam
        if beam is None and config.count > 1:
            # Wide enough for the programs that are to be shown.
            beam = max(config.count, int(files.facts_of(folder)["beam"]))
        parser = Parser.from_pretrained(
            folder,
            device=device,
            threads=1,
            beam=beam,
            threshold=config.threshold,
            wake_words=config.wake_words,
        )
        if not parser.is_validated:
            sys.stderr.write(f"{_NOT_VALIDATED.format(folder=folder)}\n")
        leave_to_the_end()
        templates, library, english = parser.templates, parser.target.library, None
        name, has_skills = parser.target.language.name, parser.target.language.has_skills
        if config.english and has_skills and library is not None:
            if load_inputs is not None or templates is None:
                load = load_inputs or partial(shipped_inputs, skip_broken=True)
                templates = LazyTemplates.from_inputs(load(name, parser.skills))
            english = English(templates, library, parser.use.locale)
        return cls(parser, config.count, english)

    @classmethod
    def from_templates(cls, config: ParseConfig, inputs: Inputs, *, locale: str = DEFAULT) -> Self:
        """Return a session without training: templates and the base answer (`Parser.of`).

        Raises:
            GenieError: R060, no such language of sentences.
        """
        use = Use(locale=locale_from(locale), wake_words=config.wake_words)
        if config.threshold is not None:
            use = replace(use, threshold=config.threshold)
        parser = Parser.of(grammar=inputs, use=use)
        english = None
        if config.english and inputs.language.has_skills and parser.templates is not None:
            english = English(parser.templates, inputs.library, use.locale)
        return cls(parser, config.count, english)

    def beside(self, *, tables: Path | None = None, names: Path | None = None) -> Self:
        """Return a session that knows the rows of a file, and the names of another one.

        Raises:
            GenieError: tables that cannot be read (N040, N041), or whose language runs no programs
                (N042); I013, names that cannot be read.
        """
        language, library = self.parser.target.language, self.parser.target.library
        rows = None
        if tables is not None:
            if not language.has_skills or library is None:
                message = (
                    f"--tables are for programs of thingtalk, this parser writes {language.name}"
                )
                raise GenieError(Problem("N042", message, hint="leave --tables out"))
            rows = open_tables(tables, library)
        return replace(self, tables=rows, names=read_names(names) if names else None)

    def parse(self, sentences: Sequence[str], *, context: Reply | None = None) -> list[Reply]:
        """Return a reply to each sentence; `context` is that whose question they answer."""
        return self.parser.parse(sentences, count=self.count, context=context, names=self.names)

    def parse_lines(
        self, lines: Sequence[tuple[int, str]], file: str, problems: list[Problem]
    ) -> list[Reply]:
        """Return the replies to numbered lines; add the problems of those that have none."""
        try:
            return self.parse([line for _, line in lines])
        except GenieError as error:
            if len(lines) == 1:
                number, line = lines[0]
                span = Span(file, number, 1, number, len(line) + 1)
                problems += (problem_at(problem, span) for problem in error.problems)
                return []
        # One line is at fault: the others are answered by themselves.
        return [reply for line in lines for reply in self.parse_lines([line], file, problems)]

    def as_json(self, reply: Reply) -> str:
        """Return a reply as one JSON object."""
        fields = {**asdict(reply), "is_known": reply.is_known, "question": reply.question}
        for answer, answer_fields in zip(reply.answers, fields["answers"], strict=True):
            answer_fields["english"] = self._english(answer)
            if self.tables is not None:
                answer_fields["effects"] = list(self._effects(answer, self.tables))
        return json.dumps(fields, ensure_ascii=False)

    def as_form(self, reply: Reply, form: str) -> tuple[str, str]:
        """Return the first program in one of FORMS as a line, and the message to it.

        Of a program that is not to be acted on, or that the form cannot express, the line is
        "null", or empty where the form is text.
        """
        outcome = in_form(reply, form)
        if form in TEXT_FORMS:
            return outcome.value or "", outcome.message
        return json.dumps(outcome.value, ensure_ascii=False), outcome.message

    def as_text(self, reply: Reply, *, with_sentence: bool) -> str:
        """Return a reply as lines for a person."""
        lines = [reply.sentence] if with_sentence else []
        answers = reply.answers
        if reply.refused and not reply.question:
            answers = tuple(x for x in answers if x.confidence >= _WORTH_SAYING)
        template = self._nearest_template(reply)
        if template and reply.refused == OUT_OF_SCOPE:
            lines.append(f"I do not know. The nearest template says {template}")
        elif reply.question:
            lines.append(reply.ask(self._english(answers[0]) or reply.code))
        elif reply.message:
            lines.append(f"{reply.message}{' The nearest that I can do:' if answers else ''}")
        for answer in answers:
            lines.append(answer.code)
            if english := self._english(answer):
                lines.append(f"  {english}")
            by = "by a template" if answer.by == DERIVED else "by the network"
            lines.append(f"  confidence {answer.confidence:.2f}, {by}")
            if answer.unused:
                lines.append(f"  unused: {', '.join(answer.unused)}")
            lines += (f"  missing: {x.name} of {x.function}" for x in answer.missing)
            lines += (f"  no list of the skills has {name!r}" for name in answer.unresolved)
            if self.tables is not None:
                lines += (f"  {line}" for line in self._effects(answer, self.tables))
        return "\n".join(lines)

    def _nearest_template(self, reply: Reply) -> str:
        is_foreign = reply.refused == OUT_OF_SCOPE and not reply.question
        if not is_foreign or self.english is None:
            return ""
        return self.english.nearest(reply.sentence)

    def _english(self, answer: Answer) -> str:
        return "" if self.english is None else self.english.confirm(answer.code)

    def _effects(self, answer: Answer, tables: Tables | Database) -> Iterator[str]:
        return tables.effects(answer.code, self.parser.target.language, now=datetime.now())


def open_tables(path: Path, library: Library) -> Tables | Database:
    """Return the data for queries: JSON rows by function, else the data that skills were made of.

    Raises:
        GenieError: of JSON (N040, N041); no such data (R090), or not that of the skills (N043),
            or of none of them (N044).
    """
    if path.suffix == ".json" and not _is_data(path):
        return read_tables(path, library)
    places = {name: Place(*place) for name, place in data_places(library).items()}
    if not places or not isinstance(library, SkillLibrary):
        message = f"no skill says where {path} has what its queries answer"
        hint = 'write #[table="patients"] on a query, or make a skill with new skill --from'
        raise GenieError(Problem("N044", message, hint=hint))
    return Database(connect(path), places, library)


def _is_data(path: Path) -> bool:
    """Return whether the rows of a JSON file have other names than those of functions."""
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError):
        return False
    names = document if isinstance(document, dict) else ()
    return bool(document) and not any(name.startswith("@") for name in names)


def read_names(path: Path) -> Mapping[str, Sequence[str]]:
    """Return the names of a file in YAML or JSON: kind of entity -> list of names.

    Raises:
        GenieError: I013, it is no such map.
    """
    located, _ = read_located(path, syntax="I013", twice="I013")
    names = located.plain
    if not isinstance(names, dict) or not all(
        isinstance(values, list) and all(isinstance(name, str) for name in values)
        for values in names.values()
    ):
        message = f"{path}: expected kinds of entities with lists of names"
        raise GenieError(Problem("I013", message, hint="room: [carport, attic]"))
    return names


@dataclass(frozen=True, slots=True)
class ParseResult(Result):
    """Counts and problems of the lines of a file.

    Attributes:
        known: replies that are not "I do not know".
        problems: those of lines that no reader takes.
    """

    sentences: int
    known: int
    problems: tuple[Problem, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the lines to print."""
        yield f"{self.sentences:,} sentences, {self.known:,} known"


def run(
    session: ParseSession,
    lines: Iterable[str],
    *,
    show: Callable[[Reply], Any],
    file: str = "<stdin>",
    batch: int = 32,
) -> ParseResult:
    """Parse the lines of a file in batches; empty ones are left out.

    Args:
        show: takes each reply, in order.
        file: its name, for the places of mistakes.
        batch: lines that are parsed together; 1 answers each line at once.
    """
    numbered = ((number, line.strip()) for number, line in enumerate(lines, start=1))
    sentences = ((number, line) for number, line in numbered if line)
    total = known_count = 0
    problems: list[Problem] = []
    while some_lines := list(islice(sentences, batch)):
        for reply in session.parse_lines(some_lines, file, problems):
            show(reply)
            known_count += reply.is_known
        total += len(some_lines)
    return ParseResult(total, known_count, tuple(problems))
