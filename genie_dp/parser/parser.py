"""A trained parser: from typed sentences to executable programs."""

import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.calls.library import words_of
from genie_dp.languages.forms import MARKS
from genie_dp.languages.library import Library, Signature
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.languages.types import is_slot
from genie_dp.locale import DEFAULT, LOCALE, Locale
from genie_dp.models.arrays import SteppedNetwork, open_arrays
from genie_dp.models.vocabulary import Vocabulary
from genie_dp.parser import folder as files
from genie_dp.parser.answers import (
    AMBIGUOUS,
    CONFIRM,
    DERIVED,
    EMPTY,
    LEARNED,
    MISSING_INPUT,
    NEGATED,
    TOO_LONG,
    UNSURE,
    UNUSED_VALUE,
    UNUSED_WORDS,
    Answer,
    Guess,
    Offers,
    PredictedReply,
    Reply,
)
from genie_dp.parser.decode import LONGEST, Decoded, Decoder, log_sum
from genie_dp.parser.derivations import Derivations, LazyTemplates, without_wake_words
from genie_dp.parser.evidence import Evidence, Support, places_of_texts, signals_of
from genie_dp.parser.learned import Learned
from genie_dp.parser.operators import Operators, negations_in, open_negations
from genie_dp.parser.reading.fill import EntityNames, Filled, NameLink, TypedText, fill
from genie_dp.parser.reading.glued import NOT_GLUED, Glued, as_read
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.parser.reading.inputs import read_input
from genie_dp.parser.reading.reading import MOST_CHARACTERS, Reader, Reading, ReadValue
from genie_dp.parser.reading.said import SentenceReader
from genie_dp.parser.reading.typed import TypedTexts, typed_texts
from genie_dp.parser.rows import Style, Target, canonical_text, target_of
from genie_dp.parser.scoring import DERIVATION_CONFIDENCE, Score, score
from genie_dp.parser.several import Commands, commands_in, is_joined, of_all_named, parts_of
from genie_dp.parser.validation import Checked
from genie_dp.records import Example
from genie_dp.resources import SHIPPED
from genie_dp.run.work import PARSER, put_in_place, refuse_output, work_folder_of
from genie_dp.skills.words import END_MARKS, GLUE, find_words, tokenize
from genie_dp.synthesis.spoken import UNLIKELY
from genie_dp.templates.cache import inputs_of, with_first_templates
from genie_dp.templates.inputs import Inputs, library_from, load_library, reading_files, shipped_or
from genie_dp.texts import Paths

if TYPE_CHECKING:
    from genie_dp.private.audit.models import Scorer

# Natural logarithm of how much likelier a reading is than one with a further doubt. A judgement,
# not a measurement: a network that is sure of the other reading is believed.
_DOUBT = math.log(4.0)
# Confidence under which a refusal of the network is believed. Of the sentences in eval.tsv that are
# parsed rightly 2 % are under it, of those that mean no skill 91 % (one parser, November 2026).
_HARDLY = 0.125
# Doubt up to which nothing of a derivation is a guess but its readings of values: every name is
# listed, and there is no text.
_SETTLED = 1.0
# Of eval.tsv 200 of 212 such derivations are right, and 73 of 95 others (November 2026).
_GUESSED = 0.85
# Doubt of a derivation for each of the caller's names that it takes for something else.
_LEFT_OUT = 0.5
# What is left of it where the network's first program, sure or not, is of another shape: 13 of 27.
_DISPUTED = 0.5
# Confidence from which the network's program stands although templates derive another one with a
# text that is hardly meant: of eval.tsv 12 of 15 such programs are right (November 2026).
_CLEAR = 0.7
# Share of the threshold from which a program is asked about that is well ahead of the next.
_LIKELY = 0.5
# Readings with a name of a list in them, beside the others; each costs as much as they do.
_MOST_LINKS = 4
_MOMENTS = ("Date", "Time")
_WAITING = frozenset(("alert", "repeat"))  # marks of programs that are not done now
OwnNames = Mapping[str, Sequence[str]]


_COUNTS, _SHARES = ("beam", "readings", "longest"), ("threshold", "derived")


@dataclass(frozen=True, slots=True)
class Use:
    """How a parser is used; a folder has the values that it was trained with.

    Attributes:
        beam: programs that search keeps.
        readings: readings of a sentence that are parsed, the likeliest first.
        threshold: confidence below which the parser answers that it does not know.
        derived: confidence of a program that templates derive, where they derive no other.
        locale: defaults for values that sentences give in part, such as a currency.
        is_constrained: whether only well-typed programs are written.
        longest: tokens after which a program is brought to an end.
        wake_words: names of the assistant, which are ignored before a sentence, or behind it.
    """

    beam: int = 4
    readings: int = 2
    threshold: float = 0.5
    derived: float = DERIVATION_CONFIDENCE
    locale: Locale = LOCALE
    is_constrained: bool = True
    longest: int = 150
    wake_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse settings that no parser has.

        Raises:
            ValueError: the first of them.
        """
        for name in _COUNTS:
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}: expected a whole number above 0, got {value!r}")
        for name in _SHARES:
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value <= 1:
                raise ValueError(f"{name}: expected a share from 0 to 1, got {value!r}")

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], folder: Path) -> "Use":
        """Return the settings of a folder."""
        settings = {name: facts[name] for name in (*_COUNTS, "threshold")}
        settings["derived"] = facts.get("derived", DERIVATION_CONFIDENCE)
        locale = files.locale_in(folder, facts)
        return cls(**settings, locale=locale, is_constrained=facts["is_constrained"])


class Parser:
    """Parses sentences. Safe for several threads: they take turns.

    Its templates answer the sentences that they derive; a network answers the rest, where one was
    trained, and chooses where templates derive several programs.

    Attributes:
        target: the language and library of programs.
        use: how it is used.
        skills: the folders of the skills that it was trained for.
        folder: where it was read from; None of one that is put together in memory.
    """

    def __init__(
        self,
        target: Target,
        *,
        reader: Reader | None,
        use: Use,
        learned: Learned | None = None,
        derivations: Derivations | None = None,
        skills: Sequence[Path] = (),
        clock: Callable[[], datetime] = datetime.now,
        folder: Path | None = None,
        glued: Glued = NOT_GLUED,
    ):
        """Keep the parts.

        Args:
            reader: reads values; None where sentences are words alone (S-expressions).
            learned: None of a parser that answers by templates alone.
            derivations: derives sentences by templates, where these are kept.
            clock: returns the moment to which "tomorrow" is relative.
            glued: parts of words that stand beside names.
        """
        self.target = target
        self.use, self.skills, self.folder = use, tuple(skills), folder
        self._learned, self._reader = learned, reader
        self._clock, self._lock, self._glued = clock, Lock(), glued
        self._derivations = derivations
        library = self.target.library
        self._names: EntityNames | None = None
        if library is not None and self.target.reads_values:
            self._names = EntityNames(library, known=use.locale.words)

    @classmethod
    def of(
        cls,
        library: Library | Paths = SHIPPED,
        grammar: Inputs | Paths = SHIPPED,
        *,
        use: Use | None = None,
        has_base: bool = True,
        clock: Callable[[], datetime] = datetime.now,
    ) -> "Parser":
        """Return a parser without training: its templates and the base answer.

        The shipped base answers English sentences that no template derives. It is less sure
        than a network that was trained for the library, and asks where that one would act.

        Args:
            library: the value of `load_library`, or its source.
            grammar: the value of `load_grammar`, or its source. Tools have no shipped templates:
                those of an import are generated for them.
            has_base: False for templates alone.

        Raises:
            GenieError: mistakes in any of the files; N014, a language whose sentences hold no
                values, such as S-expressions.
        """
        inputs = grammar
        if not isinstance(inputs, Inputs):
            is_shipped = inputs == SHIPPED
            paths = reading_files() if is_shipped else shipped_or(inputs, "grammars", "en")
            library = library_from(library)
            generated = with_first_templates(library) if is_shipped else None
            inputs = generated or inputs_of(library, paths)
        use = use or Use()
        target = target_of(Style(), inputs.language.name, inputs.library)
        if not target.reads_values:
            message = f"sentences of {inputs.language.name} have no values that could be read"
            hint = "train a parser: genie-dp train"
            raise GenieError(Problem("N014", message, hint=hint))
        reader = load_reader(units=target.units, locale=use.locale)
        templates = LazyTemplates.from_inputs(inputs)
        derivations = Derivations(templates, inputs.library, use.locale.words)
        learned = None
        if has_base and use.locale.language == DEFAULT:
            learned = Learned.of_base(target, use.locale.words, beam=use.beam)
        return cls(
            target, reader=reader, use=use, learned=learned, derivations=derivations,
            skills=inputs.skills, clock=clock,
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        folder: Path | str,
        *,
        device: str = "cpu",
        threads: int | None = None,
        beam: int | None = None,
        readings: int | None = None,
        threshold: float | None = None,
        locale: Locale | None = None,
        is_constrained: bool | None = None,
        wake_words: Sequence[str] = (),
        clock: Callable[[], datetime] = datetime.now,
    ) -> "Parser":
        """Return the parser of a folder that `genie-dp train` wrote; None keeps its own setting.

        Args:
            threads: of torch, where the network needs it; None leaves them as they are.
            wake_words: names of the assistant, which are no part of a command: "olly, ..".

        Raises:
            GenieError: N008, no such device; N010, it is no such folder, or N011, its skills were
                changed; M001, its network cannot be read; I003, the package that spells the numbers
                of its language is not installed.
        """
        path = Path(folder)
        facts = files.facts_of(path)
        changes: dict[str, Any] = {
            "beam": beam, "readings": readings, "threshold": threshold, "locale": locale,
            "is_constrained": is_constrained, "wake_words": tuple(wake_words),
        }  # fmt: skip
        try:
            use, style = Use.from_facts(facts, path), Style.from_facts(facts)
            calibration, is_validated = files.read_calibration(facts), bool(facts["validated"])
            language, skills = str(facts["language"]), str(facts["skills"])
            begins = tuple(map(str, facts["begins"]))
            get_language(language)
        except GenieError as error:
            raise files.broken(path, f"config.json: {error.problems[0].message}") from None
        except (KeyError, TypeError, ValueError) as error:
            raise files.broken(path, f"config.json: {error}") from None
        use = replace(use, **{name: x for name, x in changes.items() if x is not None})
        files.check_skills(path, skills)
        library = load_library(language, files.skill_paths(path), skip_broken=True)
        target = target_of(style, language, library)
        network, vocabulary = open_network(path, device, threads)
        decoder = Decoder(
            network,
            vocabulary,
            target,
            texts=files.read_texts(path),
            begins=begins,
            is_constrained=use.is_constrained,
            beam=use.beam,
            longest=use.longest,
        )
        reader, glued = None, NOT_GLUED
        if target.reads_values:
            reading = files.read_reader(path)
            glued = replace(reading.glued, linking=use.locale.words.linking)
            reader = load_reader(phrases=reading.phrases, units=target.units, locale=use.locale)
        derivations = None
        if reader is not None and (text := files.read_templates(path)):
            load = partial(files.inputs_of_templates, text, library, path)
            derivations = Derivations(LazyTemplates(text, load, skills), library, use.locale.words)
        evidence = files.read_evidence(path, use.locale.words)
        return cls(
            target,
            reader=reader,
            use=use,
            learned=Learned(decoder, calibration, evidence, is_validated),
            derivations=derivations,
            skills=files.skill_paths(path),
            clock=clock,
            folder=path,
            glued=glued,
        )

    @property
    def templates(self) -> LazyTemplates | None:
        """Return the templates by which it derives sentences; None where it has none."""
        return self._derivations.templates if self._derivations is not None else None

    @property
    def is_validated(self) -> bool:
        """Return whether its confidence was fitted to rows that stand for people."""
        return self._learned is None or self._learned.is_validated

    @property
    def _evidence(self) -> Evidence:
        assert self._learned is not None  # only programs of the network are weighed
        return self._learned.evidence

    def __repr__(self) -> str:
        where = f", of {self.folder}" if self.folder else ""
        doubt = "" if self.is_validated else ", not validated"
        return f"Parser({self.target.language.name}{where}{doubt})"

    @staticmethod
    def open_scorer(folder: Path, *, device: str = "cpu", longest: int = 256) -> "Scorer":
        """Return the scorer of rows under the model of a folder, for audits."""
        from genie_dp.parser.scorer import open_any

        return open_any(folder, device=device, longest=longest)

    def save(self, folder: Path | str, *, overwrite: bool = False) -> Path:
        """Copy the parser's folder to another place, where it appears when it is whole.

        Args:
            folder: the new folder, which is returned.
            overwrite: replace the parser that is there.

        Raises:
            GenieError: it exists (Y022), or is no parser (N007).
            ValueError: the parser was put together in memory.
        """
        if self.folder is None:
            raise ValueError("this parser was put together in memory: there is no folder to copy")
        target = Path(folder)
        work = work_folder_of(target)
        refuse_output(target, work, PARSER, resume=False, overwrite=overwrite)
        copy = work / "made"
        shutil.copytree(self.folder, copy)
        put_in_place(copy, target, work)
        return target

    def parse(
        self,
        sentences: Sequence[str],
        *,
        count: int = 1,
        context: Reply | None = None,
        names: OwnNames | None = None,
    ) -> list[Reply]:
        """Return, for each sentence, up to `count` programs with the values of the sentence.

        Every program is well-typed. There is none for a sentence without words, or with more than
        `decode.LONGEST`. A sentence that is not understood is refused with a code of
        `answers.REFUSALS`; in its place stands the nearest program that the skills have.

        Args:
            context: the reply whose question the sentences answer: a sentence that can be read as
                the missing input completes its program, any other is parsed by itself. So is one
                that may be a name which no list has, if it is understood as a command.
            names: kind of entity -> names that belong to the user, such as {"room": ["carport"]}.

        Raises:
            GenieError: I002, a sentence of more characters than any reader takes; I012, names of a
                kind that the skills do not have.
            TypeError: one sentence instead of a list of them.
            ValueError: a count below 1.
        """
        _check_arguments(sentences, count)
        wake_words, words = self.use.wake_words, self.use.locale.words
        bare_sentences = [without_wake_words(sentence, wake_words, words) for sentence in sentences]
        with self._lock:
            entities = self._entities(names)
            replies, readings = self._replies(
                bare_sentences, count, entities, ask_all=context is not None
            )
            replies = [self._several(reply, entities) or reply for reply in replies]
            if context is not None and entities is not None:
                replies = [
                    self._complete(reply, read, context, entities) or reply
                    for reply, read in zip(replies, readings, strict=True)
                ]
        return [
            reply if reply.sentence == sentence else replace(reply, sentence=sentence)
            for reply, sentence in zip(replies, sentences, strict=True)
        ]

    def __call__(
        self,
        sentence: str,
        n: int = 1,
        *,
        context: Reply | None = None,
        names: OwnNames | None = None,
    ) -> Reply:
        """Return up to `n` programs for a sentence, as `parse` does for several."""
        return self.parse([sentence], count=n, context=context, names=names)[0]

    def predict(self, utterances: Sequence[str], *, count: int = 5) -> list[list[Guess]]:
        """Return token forms with their confidences, as data sets have them.

        Of an utterance with placeholders the programs have these placeholders; another one is read
        as `parse` reads it, but names stay as they were typed; one of more characters than any
        reader takes has none. Without a grammar they may be ill-typed, or no programs at all. Of a
        sentence that is refused as out of scope the first one is OUT_OF_SCOPE.

        Raises:
            TypeError, ValueError: as `parse`.
        """
        return [reply.guesses for reply in self.predict_replies(utterances, count=count)]

    def predict_replies(self, utterances: Sequence[str], *, count: int = 5) -> list[PredictedReply]:
        """Return the guesses of `predict`, with the code for which the reply would be refused.

        Raises:
            TypeError, ValueError: as `parse`.
        """
        _check_arguments(utterances, count)
        with self._lock:
            readings: list[list[Reading]] = []
            derived: list[list[_Candidate]] = []
            for text in utterances:
                words = as_read(text.split())
                if any(map(is_slot, words)):
                    readings.append([Reading(words)])
                    derived.append([])
                elif self._reader is not None and len(text) > MOST_CHARACTERS:
                    readings.append([])
                    derived.append([])
                else:
                    # Where templates glue nothing it is a sign as others.
                    typed = text.replace(f" {GLUE} ", "") if self._glued else text
                    readings.append(self._readings(typed, self._names))
                    derived.append(self._derive(typed, None))
            keep = not self.use.is_constrained
            ranked = [
                self._choose(first, self._fill_programs(read, programs, None, keep=keep))
                for read, first, programs in zip(
                    readings, derived, self._decode_readings(readings), strict=True
                )
            ]
            return [
                self._predicted_reply(candidates, read, count)
                for candidates, read in zip(ranked, readings, strict=True)
            ]

    def _predicted_reply(
        self, ranked: "Sequence[_Candidate]", readings: Sequence[Reading], count: int
    ) -> PredictedReply:
        """Return the first programs; OUT_OF_SCOPE is among them where that is the reply."""
        refused: str | None = TOO_LONG  # of more characters than any reader takes
        if readings:
            first = ranked[0].reading if ranked else readings[0]
            refused = self._refusal(ranked, first.tokens, self._names)
        guesses = [
            Guess(candidate.filled.tokens, candidate.confidence)
            for candidate in ranked
            if refused == OUT_OF_SCOPE or not candidate.is_refusal
        ]
        return PredictedReply(guesses[:count], refused)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of `tree` and `calls` of its answers (draft 2020-12)."""
        return self.target.language.structure.schema(self.target.library)

    def functions(self) -> Sequence[Signature]:
        """Return the functions that its programs may use; none where nothing declares them."""
        library = self.target.library
        return library.functions() if library is not None else ()

    def offers(self) -> Offers:
        """Return examples of training, and the names of its functions, as suggestions for users."""
        path = self.folder and self.folder / files.MANIFEST
        facts = json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else {}
        called: dict[str, None] = {}
        if (library := self.target.library) is not None:
            own = (name for name in library.names() if not library.is_inherited(name))
            phrases = ((*library.called(name), words_of(name.rpartition(".")[2])) for name in own)
            called = dict.fromkeys(first for first, *_ in phrases)
        return Offers(tuple(facts.get("examples", ())), tuple(called))

    def derives(self, row: Example) -> bool | None:
        """Return whether templates answer a row rightly; None if they leave it to the network.

        Args:
            row: a sentence as people type it, with its program in token form.
        """
        with self._lock:
            candidates = self._derive(row.utterance, None)
        if not _settles(candidates):
            return None
        return candidates[0].filled.tokens == canonical_text(row.program, self.target)

    def score(self, rows: Sequence[Checked]) -> Score:
        """Return the number of rows that are answered rightly, and the signals of the answers."""
        assert self._learned is not None
        with self._lock:
            return score(self._learned.decoder, rows, self._learned.evidence)

    # ------------------------------------------------------------------------------ the steps

    def _entities(self, names: OwnNames | None) -> EntityNames | None:
        if not names:
            return self._names
        if self._names is None:
            hint = f"leave them out: {self.target.language.name} has no kinds of entities"
            raise GenieError(Problem("I012", "names: this parser knows no entities", hint=hint))
        return self._names.with_own(names, is_all=True)

    def _readings(self, sentence: str, names: EntityNames | None) -> list[Reading]:
        """Return the readings of a sentence: the reader's, then those in which a name is linked."""
        if self._reader is None:
            return [Reading(tokenize(sentence))]
        readings = self._reader.readings(sentence, now=self._clock(), most=self.use.readings)
        if names is None or not readings:
            return list(readings)
        return [*self._with_names(sentence, readings, names)]

    def _with_names(
        self, sentence: str, readings: Sequence[Reading], names: EntityNames
    ) -> Iterator[Reading]:
        """Yield readings, then those in which names are linked, first those inside of words.

        A caller's name that is left out is a doubt.
        """
        first, typed = readings[0], TypedText.from_reading(sentence, readings[0])
        tokens, places = names.apart(first.tokens, self._glued)
        apart = replace(first, tokens=tokens)
        own = names.owned_apart(typed.tokens)
        own_apart = names.owned_apart(tokens) if places else []
        own_count = max(len(own), len(own_apart))
        yield from (replace(reading, doubt=reading.doubt + own_count) for reading in readings)
        glued = (
            (apart.with_names(links), own_count - sum(map(any, _overlaps(links, own_apart))))
            for links in self._links(names.names_together(tokens) if places else ())
            if any(link.start <= place < link.end for link in links for place in places)
        )
        whole = (
            (self._read_linked(typed, links), own_count - sum(map(any, _overlaps(links, own))))
            for links in self._links(names.names_together(typed.tokens, typed.values))
        )
        for reading, left_out in islice(chain(glued, whole), _MOST_LINKS):
            yield replace(reading, doubt=reading.doubt + left_out)

    def _read_linked(self, typed: TypedText, links: Sequence[NameLink]) -> Reading:
        assert self._reader is not None
        return typed.read(links, self._reader, now=self._clock())

    def _links(self, found: Iterable[tuple[NameLink, ...]]) -> Iterator[tuple[NameLink, ...]]:
        """Yield the sets of names of kinds that rows have."""
        if self._learned is None:
            return
        index = self._learned.decoder.vocabulary.index
        for links in found:
            if all(f"GENERIC_ENTITY_{link.kind}_0" in index for link in links):
                yield links

    def _decode_readings(
        self, readings: Sequence[Sequence[Reading]]
    ) -> list[list[tuple[Decoded, ...]]]:
        """Return the programs of each reading of each sentence."""
        if self._learned is None:
            return [[()] * len(group) for group in readings]
        sentences = [reading.tokens for group in readings for reading in group]
        flat = iter(self._learned.decoder.decode(sentences))
        return [[next(flat) for _ in group] for group in readings]

    def _replies(
        self,
        sentences: Sequence[str],
        count: int,
        entities: EntityNames | None,
        *,
        ask_all: bool = False,
    ) -> tuple[list[Reply], list[list[Reading]]]:
        """Return the replies to sentences, each taken for one command, with their readings.

        Args:
            ask_all: ask the network even where templates settle the meaning.
        """
        derived = [self._derive(sentence, entities) for sentence in sentences]
        # What templates leave open is asked of the network, all of it at once.
        is_open = [count > 1 or ask_all or not _settles(x) for x in derived]
        readings = [
            self._readings(sentence, entities) if is_asked else []
            for sentence, is_asked in zip(sentences, is_open, strict=True)
        ]
        learned = [
            self._fill_programs(read, programs, entities, sentence)
            for sentence, read, programs in zip(
                sentences, readings, self._decode_readings(readings), strict=True
            )
        ]
        replies = [
            self._reply(sentence, read, self._choose(first, rest), count, entities)
            for sentence, read, first, rest in zip(
                sentences, readings, derived, learned, strict=True
            )
        ]
        return replies, readings

    def _several(self, whole: Reply, entities: EntityNames | None) -> Reply | None:
        """Return the commands that a sentence gives together, if it is not understood as one.

        Where a text may end before the next command, "text bob dinner is ready and turn off the
        lights", both ways are there, to be asked for. A program of the network that leaves out the
        meaning of one part alone, or takes several listed names for one, is no answer.
        """
        words = self.use.locale.words
        if not self.target.language.sequence:
            return None
        if (reply := self._for_all_named(whole, entities)) is not None:
            return reply
        if not is_joined(whole.sentence, words):
            return None
        first = whole.answers[0] if whole.is_known else None
        in_text = in_name = False
        if first and first.by == DERIVED:
            in_text, in_name = self._joined_parts(first, entities)
            if not (in_text or in_name):
                return None
        answers_by_text: dict[str, Answer | None] = {}
        leaves_out = in_name and self._names_several(first, entities)
        for commands in commands_in(whole.sentence, words):
            if in_text and not (in_name or commands.is_whole):
                continue  # "say hello and goodbye" is one text
            answers = [
                x for text in commands.texts if (x := self._alone(text, answers_by_text, entities))
            ]
            is_less = self._leaves_out(first, answers)
            leaves_out |= commands.is_whole and is_less
            if first and not (is_less or in_text or in_name):
                continue  # its program does all that the parts mean
            is_cut = commands.is_whole and not any(is_joined(x, words) for x in commands.texts)
            if not (is_cut and not first) and not self._are_sure(answers, entities):
                continue
            if len(answers) == len(commands.texts) and (
                joined := self._join_answers(answers, commands)
            ):
                if in_text and not in_name:
                    return replace(whole, answers=(joined, *whole.answers), refused=AMBIGUOUS)
                return Reply(whole.sentence, whole.tokens, (joined,))
        return replace(whole, refused=AMBIGUOUS) if leaves_out and not in_text else None

    def _for_all_named(self, whole: Reply, entities: EntityNames | None) -> Reply | None:
        """Return one command for each of several things of the caller: "lock both doors"."""
        if whole.is_known or entities is None:
            return None
        answers_by_text: dict[str, Answer | None] = {}
        for commands in of_all_named(whole.sentence, entities.own, self.use.locale.words):
            part_answers = [self._alone(text, answers_by_text, entities) for text in commands.texts]
            answers = [answer for answer in part_answers if answer is not None]
            is_sure = len(answers) == len(part_answers) and self._are_sure(answers, entities)
            if is_sure and (joined := self._join_answers(answers, commands)) is not None:
                return Reply(whole.sentence, whole.tokens, (joined,))
        return None

    def _alone(
        self, text: str, known: dict[str, Answer | None], entities: EntityNames | None
    ) -> Answer | None:
        """Return the answer to a part of a sentence that is understood by itself."""
        if text not in known:
            ((reply,), _) = self._replies([text], 1, entities)
            known[text] = reply.answers[0] if reply.is_known else None
        return known[text]

    def _leaves_out(self, whole: Answer | None, answers: Sequence[Answer]) -> bool:
        """Return whether a part of a sentence means a function that the program of all has not."""
        if whole is None:
            return False
        form = self.target.language.form
        own = set(form(whole.program).functions)
        return any(not own.issuperset(form(answer.program).functions) for answer in answers)

    def _waits(self, program: str) -> bool:
        """Return whether a program is done later, or again and again."""
        marks = self.target.language.form(program).marks
        return not (_WAITING.isdisjoint(marks) or MARKS.keys() <= set(marks))

    def _waits_for_now(self, candidate: "_Candidate", tokens: Sequence[str]) -> bool:
        """Return whether the network would wait though the sentence asks for the present state."""
        text = " ".join(tokens)
        starts = (f"{' '.join(tokenize(x))} " for x in self.use.locale.words.asking_now)
        is_asked = not candidate.is_derived and text.startswith(tuple(starts))
        return is_asked and self._waits(candidate.filled.tokens)

    def _joined_parts(self, answer: Answer, entities: EntityNames | None) -> tuple[bool, bool]:
        """Return whether a text, and whether a name that no list has, may hold another command."""
        form, words = self.target.language.form(answer.program), self.use.locale.words
        tokens = form.tokens
        texts = (x for x in form.literals if x.is_text and not tokens[x.end - 1].startswith("^^"))
        inner_texts = (" ".join(tokens[x.start + 1 : x.end]) for x in texts)
        names = (is_one for _, _, is_one in self._names_in(answer, entities))
        return any(is_joined(text, words) for text in inner_texts), not all(names)

    def _are_sure(self, answers: Sequence[Answer], entities: EntityNames | None) -> bool:
        """Return whether templates derive all programs, and existing lists have their names."""
        return all(
            answer.by == DERIVED
            and all(listed is not False for _, listed, _ in self._names_in(answer, entities))
            for answer in answers
        )

    def _names_several(self, answer: Answer | None, entities: EntityNames | None) -> bool:
        """Return whether a name that no list has begins with one that a list has."""
        if answer is None or entities is None:
            return False
        words = self.use.locale.words
        return any(
            not is_one and entities.is_listed(kind, next(parts_of(name, words)))
            for (kind, name), _, is_one in self._names_in(answer, entities)
        )

    def _names_in(
        self, answer: Answer, entities: EntityNames | None
    ) -> Iterator[tuple[tuple[str, str], bool | None, bool]]:
        """Yield the names of a program: (kind, name), whether a list has it, whether it is one."""
        form, words = self.target.language.form(answer.program), self.use.locale.words
        tokens = form.tokens
        for literal in form.literals:
            last = tokens[literal.end - 1]
            if literal.is_text and last.startswith("^^"):
                kind = last.removeprefix("^^")
                name = " ".join(tokens[literal.start + 1 : literal.end - 2])
                listed = entities.is_listed(kind, name) if entities else None
                yield (kind, name), listed, bool(listed) or not is_joined(name, words)

    def _join_answers(self, answers: Sequence[Answer], commands: Commands) -> Answer | None:
        """Return one answer that combines several in their order; None if it is too unsure.

        Commands wait all or none: of "when it rains close the window and call me" both do.
        """
        language, library = self.target.language, self.target.library
        programs = list(dict.fromkeys(answer.program for answer in answers))
        waiting = set(map(self._waits, programs))
        is_alike = len({language.form(program).functions for program in programs}) == 1
        # What is meant of each of several things is meant of all, or of none.
        together = min if commands.is_of_all else math.prod
        confidence = together(answer.confidence for answer in answers)
        fits = len(waiting) == 1 and not (commands.is_whole and True in waiting)
        if not fits or commands.is_alike > is_alike or confidence < self.use.threshold:
            return None
        program = language.from_tokens(language.sequence.join(programs), library)
        filled = Filled(program, language.tokens(program, library))
        decoded = language.sequence.join(answer.decoded for answer in answers)
        is_derived = all(answer.by == DERIVED for answer in answers)
        joined = self._shape(filled, decoded, confidence, by=DERIVED if is_derived else LEARNED)
        unresolved = tuple(name for answer in answers for name in answer.unresolved)
        return replace(joined, unresolved=unresolved)

    def _reply(
        self,
        sentence: str,
        readings: Sequence[Reading],
        ranked: "Sequence[_Candidate]",
        count: int,
        names: EntityNames | None,
    ) -> Reply:
        meant = [candidate for candidate in ranked if not candidate.is_refusal]
        answers = tuple(self._answer(candidate, names) for candidate in meant[:count])
        tokens = (ranked[0].reading if ranked else readings[0]).tokens
        return Reply(sentence, tokens, answers, self._refusal(ranked, tokens, names))

    def _answer(self, candidate: "_Candidate", names: EntityNames | None) -> Answer:
        return self._shape(
            candidate.filled,
            candidate.decoded,
            candidate.confidence,
            tuple(
                dict.fromkeys(
                    (
                        *self._denied_words(candidate, names),
                        *self._unused_values(candidate, names),
                        *candidate.support.lost,
                        *candidate.words,
                    )
                )
            ),
            by=DERIVED if candidate.is_derived else LEARNED,
        )

    def _shape(
        self,
        filled: Filled,
        decoded: str,
        confidence: float,
        unused: tuple[str, ...] = (),
        by: str = LEARNED,
    ) -> Answer:
        language = self.target.language
        return Answer(
            program=filled.tokens,
            code=language.render(filled.program),
            decoded=decoded,
            confidence=confidence,
            unresolved=tuple(name.said for name in filled.unknown_names),
            unused=unused,
            missing=language.structure.missing_inputs(filled.program, self.target.library),
            tree=language.structure.tree(filled.program),
            calls=language.structure.calls(filled.program),
            by=by,
        )

    def _complete(
        self, alone: Reply, readings: Sequence[Reading], context: Reply, names: EntityNames
    ) -> Reply | None:
        """Return the program of a context with the input that a sentence gives it, if it does.

        One that was to be confirmed is returned to a "yes".

        Args:
            alone: the reply to the sentence by itself.
        """
        language, library = self.target.language, self.target.library
        if context.refused == CONFIRM and context.answers:
            words = (x for x in tokenize(alone.sentence.casefold()) if x not in END_MARKS)
            if " ".join(words) not in self.use.locale.words.yes:
                return None
            answer = context.answers[0]
            program = language.from_tokens(answer.program, library)
            confirmed = self._shape(
                Filled(program, answer.program), answer.decoded, answer.confidence, by=answer.by
            )
            is_whole = not confirmed.missing and not _has_error(language.check(program, library))
            return Reply(alone.sentence, alone.tokens, (confirmed,)) if is_whole else None
        if library is None or context.refused != MISSING_INPUT or not context.answers:
            return None
        answer = context.answers[0]
        program = language.from_tokens(answer.program, library)
        missing = language.structure.missing_inputs(program, library)
        if not missing:
            return None
        read = read_input(
            alone.sentence, missing[0], library=library, readings=readings, names=names,
            known=self.use.locale.words,
        )  # fmt: skip
        if read is None or (read.is_open and alone.refused in (None, MISSING_INPUT)):
            return None
        program, resolved_names = names.resolve(
            language.structure.give_input(program, missing[0], read.constant, library), language
        )
        program = language.canonical(program, library)
        if _has_error(language.check(program, library)):
            return None
        filled = Filled(program, language.tokens(program, library), resolved_names)
        completed = self._shape(filled, answer.decoded, answer.confidence, by=answer.by)
        refused = MISSING_INPUT if completed.missing else None
        if answer.confidence < self.use.threshold:
            refused = UNSURE
        return Reply(alone.sentence, alone.tokens, (completed,), refused)

    def _refusal(
        self, ranked: "Sequence[_Candidate]", tokens: Sequence[str], names: EntityNames | None
    ) -> str | None:
        """Return the code of REFUSALS for the first program; None if it may be executed."""
        if not tokens:
            return EMPTY
        if len(tokens) > LONGEST:
            return TOO_LONG
        meant = [candidate for candidate in ranked if not candidate.is_refusal]
        if not meant:
            return OUT_OF_SCOPE
        best, threshold = meant[0], self.use.threshold
        is_sure = best.confidence >= threshold
        if (is_sure or not ranked[0].is_refusal) and self._denied_words(best, names):
            return NEGATED
        if best.is_ambiguous or (is_sure and self._waits_for_now(best, tokens)):
            return AMBIGUOUS
        if is_sure:
            if self._unused_values(best, names):
                return UNUSED_VALUE
            # Its own rows cannot tell how sure it may be of words that none of them says.
            is_open = bool(best.words and threshold and not self.is_validated)
            if best.support.lost or is_open:
                return UNUSED_WORDS
            program = best.filled.program
            if self.target.language.structure.missing_inputs(program, self.target.library):
                return MISSING_INPUT
            return None if self._is_usual_call(best) else CONFIRM
        if ranked[0].is_refusal:
            return OUT_OF_SCOPE
        if self._unused_values(best, names):
            return UNUSED_VALUE
        return self._doubt(meant)

    def _doubt(self, meant: "Sequence[_Candidate]") -> str:
        """Return the code for programs of which the first is less sure than the threshold."""
        best, threshold = meant[0], self.use.threshold
        second = meant[1].confidence if len(meant) > 1 else 0.0
        if second >= best.confidence / 2:
            if best.confidence + second >= threshold:
                return AMBIGUOUS
        elif best.confidence >= _LIKELY * threshold and best.is_said:
            program = best.filled.program
            if not self.target.language.structure.missing_inputs(program, self.target.library):
                return CONFIRM
        return UNUSED_WORDS if best.words else UNSURE

    def _denied_words(self, candidate: "_Candidate", names: EntityNames | None) -> tuple[str, ...]:
        """Return the negations of the sentence for which a program does not stand.

        Words that were taken for a name are one only if a list has it so.
        """
        if candidate.is_derived:  # templates stand for all of its words
            return ()
        words, sentence = self.use.locale.words, candidate.reading.tokens
        is_listed = names.is_listed if names is not None else lambda kind, text: None
        form, parts = self.target.language.form(candidate.decoded), candidate.parts
        denied = [
            negation.name
            for negation in open_negations(sentence, form, words, is_listed=is_listed)
            if not self._evidence.denies(
                negation, sentence, form.values, candidate.functions, parts
            )
        ]
        for token in candidate.reading.links:
            name = candidate.reading.values[token].text.casefold()
            kind = token.removeprefix("GENERIC_ENTITY_").rpartition("_")[0]
            if negations_in(tokenize(name.casefold()), words) and not is_listed(
                kind, name.casefold()
            ):
                denied.append(name)
        return tuple(denied)

    def _unused_values(self, candidate: "_Candidate", names: EntityNames | None) -> tuple[str, ...]:
        """Return the values and names of the sentence that a program has no place for.

        Words that may be a value are one unless the program means them (`Evidence.means`).
        """
        if candidate.is_derived:
            return ()
        form, reading = self.target.language.form(candidate.decoded), candidate.reading
        program, fixed = form.tokens, form.fixed
        spans = [value.span for value in reading.values.values()]
        row = ("", *reading.tokens, "")
        spoken_values: list[tuple[tuple[str, ...], ReadValue]] = [
            ((token,), value) for token, value in reading.values.items() if token not in program
        ]
        for value in candidate.other_values:
            start, end = value.span
            if not any(first < end and start < last for first, last in spans):
                spoken_values.append((tuple(tokenize(value.text.casefold())), value))
        unused = []
        for tokens, value in spoken_values:
            place, words = find_words(reading.tokens, tokens), tokenize(value.text.casefold())
            if place is None or find_words(program, words) is not None:
                continue  # it is part of a name, or of a text
            if self._takes(value.type, candidate.functions):
                sides = row[place], row[place + len(tokens) + 1]
                is_meant = self._evidence.means(
                    words, sides, candidate.functions, fixed, candidate.parts
                )
            else:
                is_meant = self._evidence.says(words, candidate.functions)
            if not is_meant:
                unused.append(value.text)
        if names is not None and candidate.words:
            unused += names.find_mentions(candidate.reading.tokens, candidate.words)
        return tuple(dict.fromkeys(unused))

    def _takes(self, type_: str, functions: Iterable[str]) -> bool:
        """Return whether a function of these has a place for values of a type."""
        library = self.target.library
        signatures = (library.signature(name) for name in functions) if library else ()
        parameters = chain.from_iterable(x.parameters for x in signatures if x is not None)
        return library is None or any(str(x.type) == type_ for x in parameters)

    def _fill_programs(
        self,
        readings: Sequence[Reading],
        decoded: Sequence[tuple[Decoded, ...]],
        names: EntityNames | None,
        sentence: str | None = None,
        *,
        keep: bool = False,
    ) -> "list[_Candidate]":
        """Return the programs with their values, best first; equal ones are one.

        Args:
            sentence: as it was typed, and so texts are; None for texts in tokens.
            keep: whether programs that cannot be filled stay, as they were written.
        """
        candidates: dict[str, _Candidate] = {}
        read = _values_of(readings)
        for reading, programs in zip(readings, decoded, strict=True):
            for program in programs:
                # Its words are taken for a name: a program that makes no use of that is none of it.
                if not set(reading.links) <= set(program.program.split()):
                    continue
                if not self._gives_enough(program.program) or _is_in_two(program.program):
                    continue
                written = self._evidence.free_texts(
                    program.program, reading.tokens, self.target.language
                )
                filled: Filled | None = Filled(None, OUT_OF_SCOPE)
                if written != OUT_OF_SCOPE:
                    filled = self._fill(written, reading, names, sentence)
                if filled is None and keep:
                    filled = Filled(None, written)
                if filled is None:
                    continue
                doubt = _DOUBT * reading.doubt
                score, outline = program.log_probability - doubt, program.outline - doubt
                earlier = candidates.get(filled.tokens)
                if earlier is None:
                    candidates[filled.tokens] = _Candidate(
                        filled, written, reading, score, outline, read
                    )
                else:
                    earlier.score = log_sum(earlier.score, score)
                    earlier.outline = log_sum(earlier.outline, outline)
        return self._rank(tuple(candidates.values()))

    def _choose(
        self, derived: "Sequence[_Candidate]", learned: "list[_Candidate]"
    ) -> "list[_Candidate]":
        """Return the programs that templates derive before those of the network.

        Where names or texts of a derivation are a guess, a program of the network of another shape
        goes first if it is sure and leaves nothing out: "read it out" is no text "it".

        Args:
            derived: the likeliest first.
            learned: best first.
        """
        learned = self._whole_first(learned)
        best = _likeliest(derived)
        if not best:
            return self._with_values(derived, learned)
        first = next((x for x in learned if not x.is_refusal), None)
        is_guess = best[0].score < -_SETTLED
        share = _GUESSED if is_guess else 1.0
        if is_guess and first is not None:
            shape = self._shape_of(first.filled)
            alike = [x for x in derived if self._shape_of(x.filled) == shape]
            best = [x for x in alike if x.score == alike[0].score] or best
            if not alike and self._is_answer(first):
                return learned
            share = share if alike else _DISPUTED
        ranks = {candidate.filled.tokens: i for i, candidate in enumerate(learned)}
        chosen = min(best, key=lambda x: ranks.get(x.filled.tokens, len(ranks)))
        is_known = chosen.filled.tokens in ranks
        sure = self.use.derived * share
        chosen.confidence = sure if is_known else sure / len(best)
        chosen.is_ambiguous = not is_known and len(best) > 1
        if first is not None and first.filled.tokens == chosen.filled.tokens:
            chosen.confidence = max(chosen.confidence, first.confidence)
        others = [x for x in (*best, *learned) if x.filled.tokens != chosen.filled.tokens]
        for candidate in others:
            candidate.confidence = min(candidate.confidence, 1.0 - chosen.confidence)
        return [chosen, *others]

    def _whole_first(self, ranked: "list[_Candidate]") -> "list[_Candidate]":
        """Return programs of the network; one that leaves out nothing goes before one refused.

        It does so if it may be acted on once those that leave something out are put aside.
        """
        meant = [candidate for candidate in ranked if not candidate.is_refusal]
        if self._learned is None or not meant or not self._is_lacking(meant[0]):
            return ranked
        whole = [x for x in meant if not x.leaves_out and not self._is_lacking(x)]
        if not whole:
            return ranked
        first, *others = whole
        refusal = max((x.score for x in ranked if x.is_refusal), default=-math.inf)
        margin = first.rank - max((x.rank for x in others), default=-math.inf)
        signals = signals_of(first.outline, refusal, margin, first.support)
        confidence = self._learned.calibration.confidence(signals)
        if confidence < self.use.threshold:
            return ranked
        first.confidence = confidence
        rest = [candidate for candidate in ranked if candidate is not first]
        for candidate in rest:
            candidate.confidence = min(candidate.confidence, 1.0 - confidence)
        return [first, *rest]

    def _is_lacking(self, candidate: "_Candidate") -> bool:
        """Return whether a program is refused for a value or a negation that it leaves out."""
        names = self._names
        return bool(self._unused_values(candidate, names) or self._denied_words(candidate, names))

    def _is_answer(self, candidate: "_Candidate") -> bool:
        """Return whether a program of the network may be acted on by itself."""
        is_sure = candidate.confidence >= self.use.threshold and not candidate.leaves_out
        return is_sure and not self._is_lacking(candidate)

    def _with_values(
        self, derived: "Sequence[_Candidate]", learned: "list[_Candidate]"
    ) -> "list[_Candidate]":
        """Return the programs of the network, the first with the values of an unlikely derivation.

        If all derivations have texts full of other functions' words, one like the network's first
        program shows where its texts end, and any other shows that all may be a text.
        """
        meant = [candidate for candidate in learned if not candidate.is_refusal]
        if not derived or not meant or not meant[0].is_doubtful:
            return learned
        shape = self._shape_of(meant[0].filled)
        matches = [candidate for candidate in derived if self._shape_of(candidate.filled) == shape]
        if not matches:
            is_clear = meant[0].confidence >= _CLEAR
            meant[0].is_ambiguous = meant[0].leaves_out and not is_clear
            return learned
        best = [candidate for candidate in matches if candidate.score == matches[0].score]
        own = [x for x in best if x.filled.tokens == meant[0].filled.tokens]
        chosen = (*own, *best)[0]
        chosen.confidence = meant[0].confidence
        chosen.is_ambiguous = not own and len(best) > 1
        return [chosen, *(candidate for candidate in learned if candidate is not meant[0])]

    def _derive(self, sentence: str, names: EntityNames | None) -> "list[_Candidate]":
        """Return the programs of which templates derive a sentence, the likeliest first.

        Args:
            sentence: as it was typed.
            names: the lists of names; None where they are not looked up.
        """
        language, library = self.target.language, self.target.library
        if self._derivations is None or library is None:
            return []
        values = SentenceReader(
            language, library, now=self._clock(), reader=self._reader, locale=self.use.locale,
            lists=names or self._names,
        )  # fmt: skip
        derived = self._derivations.find(
            sentence, values, lambda program, reading: self._fill(program, reading, names, None)
        )
        owned = names.owned_in(sentence) if names is not None else []
        candidates = [
            _Candidate(
                derivation.filled,
                derivation.program,
                derivation.reading,
                -derivation.doubt - _left_out(owned, derivation.reading),
                functions=language.form(derivation.program).functions,
                is_derived=True,
            )
            for derivation in derived
        ]
        return sorted(candidates, key=lambda x: -x.score)

    def _shape_of(self, filled: Filled) -> str:
        """Return the common shape of programs that differ in their values alone."""
        comparison = self.target.language.comparison()
        assert comparison is not None
        return comparison.view(filled.program, self.target.library).shape

    def _gives_enough(self, program: str) -> bool:
        """Return whether each function of a program has the inputs that some row gives it."""
        return program == OUT_OF_SCOPE or all(
            self._evidence.gives(function, inputs)
            for function, inputs in self.target.language.form(program).inputs
        )

    def _is_usual_call(self, candidate: "_Candidate") -> bool:
        """Return whether rows call each function of a learned program with such inputs and wording.

        "Add an hour to the 5 minutes timer" adds no hour and five minutes, where rows have either;
        "are the lights off" does not turn them off.
        """
        sentence = candidate.reading.tokens
        return candidate.is_derived or all(
            self._evidence.gives_together(function, inputs)
            and self._evidence.takes_question(function, sentence)
            for function, inputs in self.target.language.form(candidate.decoded).inputs
        )

    def _rank(self, candidates: "Sequence[_Candidate]") -> "list[_Candidate]":
        """Return the programs in their order, with how sure each is; all together at most 1.

        OUT_OF_SCOPE comes first if the network holds it likelier than all of them and the first one
        is hardly possible, else last; it is as sure as the first program is not.
        """
        refusals = [candidate for candidate in candidates if candidate.is_refusal]
        meant = [candidate for candidate in candidates if not candidate.is_refusal]
        if self._learned is None:
            return refusals
        calibration = self._learned.calibration
        for candidate in meant:
            self._set_support(candidate)
        meant.sort(key=lambda x: (-x.rank, x.filled.tokens))
        refusal = max((x.score for x in refusals), default=-math.inf)
        rest = 1.0
        for candidate in meant:
            # The calibration is that of first programs: by it the others may be too sure.
            others = max((x.rank for x in meant if x is not candidate), default=-math.inf)
            signals = signals_of(
                candidate.outline, refusal, candidate.rank - others, candidate.support
            )
            candidate.confidence = min(rest, calibration.confidence(signals))
            rest -= candidate.confidence
        for candidate in refusals:
            candidate.confidence = 1.0 - meant[0].confidence if meant else 1.0
        likeliest = max((x.score for x in meant), default=-math.inf)
        is_refused = refusal > likeliest and (not meant or meant[0].confidence < _HARDLY)
        return [*refusals, *meant] if is_refused else [*meant, *refusals]

    def _set_support(self, candidate: "_Candidate") -> None:
        form = self.target.language.form(candidate.decoded)
        try:
            candidate.functions, candidate.parts = form.functions, form.parts
        except GenieError:  # without a grammar it may be no program
            candidate.functions, candidate.parts = (), frozenset()
        nearness = self._learned.decoder.near if self._learned else None
        candidate.support = self._evidence.support(
            candidate.reading.tokens, form.values, candidate.functions, candidate.parts,
            Operators.from_form(form), near=partial(nearness.to, form.tokens) if nearness else None,
        )  # fmt: skip

    def _fill(
        self, program: str, reading: Reading, names: EntityNames | None, sentence: str | None
    ) -> Filled | None:
        """Return a program with its values; None if values make it one that cannot be."""
        language, library = self.target.language, self.target.library
        try:
            # Placeholders of a row's own utterance stand for no values here.
            is_row = not reading.values and any(map(is_slot, reading.tokens))
            if self._reader is None or is_row:
                filled = Filled(language.from_tokens(program), program)
            else:
                texts = TypedTexts(program, {})
                if sentence is not None:
                    texts = typed_texts(program, reading, sentence)
                filled = fill(
                    texts.program, reading.values, language=language, library=library, names=names,
                    typed=texts.texts,
                )  # fmt: skip
        except GenieError:
            return None
        unfound = filled.unfound_names
        if names is not None and not all(names.may_be(x.kind, x.said) for x in unfound):
            return None  # nothing of the caller is called so
        unknown = filled.unknown_names if self._learned is not None else ()
        functions = language.form(filled.tokens).functions if unknown else ()
        for name in unknown:
            words = tokenize(name.said.casefold())
            places = [t for t, x in reading.values.items() if tokenize(x.text.casefold()) == words]
            typed = [x for t in reading.tokens for x in (words if t in places else (t,))]
            if self._evidence.is_of_command(words, typed, functions):
                return None  # "turn the" of "turn the lights on" is no room
        return None if _has_error(language.check(filled.program, library)) else filled


def _has_error(problems: Iterable[Problem]) -> bool:
    return any(problem.severity == "error" for problem in problems)


def _left_out(owned: Sequence[str], reading: Reading) -> float:
    """Return the doubt of a reading in which names of the caller are no names.

    A text that is such a name and nothing else is hardly meant as a text.
    """
    values = reading.values.values()
    named = [_letters(value.text) for value in values if "^^" in value.value]
    texts = {_letters(value.text) for value in values if "^^" not in value.value}
    unread_names = [
        name for name in map(_letters, owned) if not any(name in text for text in named)
    ]
    is_text = any(
        text.endswith(name) and len(text) <= len(name) + 3
        for name in unread_names
        for text in texts
    )
    return _LEFT_OUT * len(unread_names) + UNLIKELY * is_text


def _letters(text: str) -> str:
    return "".join(text.casefold().split())


def _likeliest(derived: "Sequence[_Candidate]") -> "list[_Candidate]":
    """Return the derived programs with the fewest doubts; none where they are hardly meant."""
    first = derived[0].score if derived else -math.inf
    return [x for x in derived if x.score == first] if first > -UNLIKELY else []


def _settles(derived: "Sequence[_Candidate]") -> bool:
    """Return whether templates derive one program before all others, and guess nothing of it."""
    best = _likeliest(derived)
    return len(best) == 1 and best[0].score >= -_SETTLED


def _is_in_two(program: str) -> bool:
    """Return whether a value given once is in a text and by itself, or in one call twice.

    >>> _is_in_two('timer( minutes= NUMBER_0 say= " lights on in NUMBER_0 " )')
    True
    >>> _is_in_two("timer( minutes= NUMBER_0 ) & timer( minutes= NUMBER_0 )")
    True
    """
    calls = program.split(" & ")
    if any(is_slot(token) and calls.count(call) > 1 for call in calls for token in call.split()):
        return True
    places: tuple[set[str], set[str]] = (set(), set())
    is_text = False
    for token in program.split(" "):
        if token == '"':
            is_text = not is_text
        elif is_slot(token):
            places[is_text].add(token)
    return not places[0].isdisjoint(places[1])


def _values_of(readings: Sequence[Reading]) -> tuple[ReadValue, ...]:
    """Return the values of the likeliest reading, and the dates and times of any."""
    values = {
        value.span: value
        for number, reading in enumerate(readings)
        for value in reading.values.values()
        if not number or value.type in _MOMENTS
    }
    return tuple(values.values())


def _overlaps(links: Sequence[NameLink], own: Sequence[Sequence[NameLink]]) -> Iterator[list[bool]]:
    """Yield for each of a caller's names which of the links have words of it."""
    for first, *_ in own:
        yield [link.start < first.end and first.start < link.end for link in links]


def _check_arguments(sentences: Sequence[str], count: int) -> None:
    """Refuse one text, whose letters would be taken for sentences, and a count below 1."""
    if isinstance(sentences, str):
        raise TypeError("expected a list of sentences, got one text: put it in a list")
    if count < 1:
        raise ValueError(f"count: expected a whole number above 0, got {count!r}")


def open_network(
    folder: Path, device: str, threads: int | None
) -> tuple[SteppedNetwork, Vocabulary]:
    """Return the network of a folder and its vocabulary: without torch, where that is possible.

    Raises:
        GenieError: M001, a file is missing or broken; N008, no such device.
    """
    if device == "cpu" and (network := open_arrays(folder)) is not None:
        return network
    from genie_dp.models.device import prepare_torch
    from genie_dp.models.saved import load_model
    from genie_dp.models.seq2seq import SteppedTorch

    if threads is not None:
        prepare_torch(device, threads)
    saved = load_model(folder, device=device)
    return SteppedTorch(saved.model), saved.vocabulary


@dataclass(slots=True)
class _Candidate:
    """A filled program, its decoded form and the reading behind it, and its score in nats.

    `outline` is the score without the words inside of texts (`Decoded`); `other_values` are those
    of the likeliest reading, and moments of any.
    """

    filled: Filled
    decoded: str
    reading: Reading
    score: float
    outline: float = 0.0
    other_values: tuple[ReadValue, ...] = ()
    confidence: float = 0.0
    functions: tuple[str, ...] = ()
    parts: frozenset[str] = frozenset()
    support: Support = Support(0.0, 0, ())  # noqa: RUF009 - it is immutable
    is_ambiguous: bool = False
    is_derived: bool = False

    @property
    def rank(self) -> float:
        """Return the key by which programs of one sentence are ordered."""
        return self.score + self.support.weight

    @property
    def words(self) -> tuple[str, ...]:
        """Return the content words that nothing of the program stands for."""
        return self.support.unexplained

    @property
    def is_doubtful(self) -> bool:
        """Return whether it has a text, whose ends are a guess, or leaves something out."""
        has_text = any(places_of_texts(self.decoded.split(" ")))
        is_unlisted = any(name.how in ("unknown", "unlisted") for name in self.filled.names)
        return has_text or is_unlisted or self.leaves_out

    @property
    def leaves_out(self) -> bool:
        """Return whether the sentence has words, or indicates parts, that the program lacks."""
        return bool(self.words or self.support.lost) or self.support.missing_parts > 0

    @property
    def is_said(self) -> bool:
        """Return whether rows have some of its words with its functions, and none is lost."""
        return self.is_derived or (self.support.explained > 0 and not self.support.lost)

    @property
    def is_refusal(self) -> bool:
        """Return whether it is the program of sentences out of scope."""
        return self.decoded == OUT_OF_SCOPE


def open_parser(
    folder: Path, *, beam: int | None = None, is_constrained: bool | None = None
) -> Parser:
    """Return the parser of a folder, on one thread; None keeps the folder's setting."""
    return Parser.from_pretrained(folder, threads=1, beam=beam, is_constrained=is_constrained)


class BestProgram:
    """Answers with one program a sentence, as the check of paraphrases asks."""

    def __init__(self, parser: Parser):
        self.parser = parser

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """Return the parser of a folder."""
        return cls(open_parser(folder))

    def predict(self, utterances: Sequence[str]) -> list[str]:
        """Return the most probable program of each sentence, "" where there is none."""
        guesses = self.parser.predict(utterances, count=1)
        return [nbest[0].program if nbest else "" for nbest in guesses]
