"""The settings of an evolution, all of them public: from Python, options, and recipes in YAML."""

import dataclasses
import math
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.located import Located, place_problems, read_located
from genie_dp.private.ledger.mechanisms import Gaussian
from genie_dp.private.tables.extract import needs_library
from genie_dp.recipe import fits, kind_in_words, setting, settings_as_yaml

Selection = Literal["resample", "rank"]
SELECTIONS: tuple[Selection, ...] = get_args(Selection)


@dataclass(frozen=True, slots=True)
class EvolutionSettings:
    """How candidates are voted for, chosen and varied.

    Attributes:
        noise_multiplier: standard deviation of the noise on each count of votes, in votes of one
            unit; `calibrated` finds it.
        iterations: how often private rows vote (T); each costs.
        population: winners of a vote (N).
        variations: candidates for each winner (L): a vote is among population x variations. More
            are finer and split the votes more, so that the noise is greater beside them.
        lookahead: variations whose mean place stands for a candidate (Xie et al., 2024); 0 for the
            place of the candidate itself. So many more calls of the generator for each candidate.
        neighbours: candidates that a private row votes for (k).
        threshold: what is taken off each noisy count, in standard deviations of its noise.
        selection: draw winners by their weights ("resample"), or take the first ones ("rank").
        keep: whether winners are candidates again, beside their variations. Otherwise variations
            take their place, as in Lin et al., 2023.
        first_strength, last_strength: how much is varied after the first vote and after the last.
        rows: how many are written: winners of the last vote, and their variations.
        label: column by which private rows vote, each among candidates of its own; "" for none.
        fractions: label -> share of candidates. None takes them from a private table.
        seed: of candidates and choices; the noise has none.
    """

    noise_multiplier: float
    iterations: int = 5
    population: int = 200
    variations: int = 4
    lookahead: int = 0
    neighbours: int = 1
    threshold: float = 1.0
    selection: Selection = "resample"
    keep: bool = True
    first_strength: float = 0.8
    last_strength: float = 0.2
    rows: int = 1000
    label: str = ""
    fractions: Mapping[str, float] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what is none (U003), all mistakes at once."""
        problems = [Problem("U003", message) for message in self._faults()]
        if problems:
            raise GenieError(problems)

    def _faults(self) -> Iterator[str]:
        if not (math.isfinite(self.noise_multiplier) and self.noise_multiplier > 0):
            yield f"noise_multiplier must be greater than 0, got {self.noise_multiplier}"
        for name in ("iterations", "population", "variations", "neighbours", "rows"):
            if getattr(self, name) < 1:
                yield f"{name} must be at least 1, got {getattr(self, name)}"
        if self.lookahead < 0:
            yield f"lookahead must be at least 0, got {self.lookahead}"
        if self.keep and self.variations < 2 and self.iterations > 1:
            yield f"variations must be at least 2 where winners are kept, got {self.variations}"
        if not (math.isfinite(self.threshold) and self.threshold >= 0):
            yield f"threshold must be at least 0, got {self.threshold}"
        for name in ("first_strength", "last_strength"):
            if not 0 <= getattr(self, name) <= 1:
                yield f"{name} must lie in [0, 1], got {getattr(self, name)}"
        if self.selection not in SELECTIONS:
            yield f"selection must be one of {', '.join(SELECTIONS)}, got {self.selection!r}"
        yield from self._wrong_fractions()

    def _wrong_fractions(self) -> Iterator[str]:
        if self.fractions is None:
            return
        if not self.label:
            yield "fractions are of labels: name the label's column"
        shares = list(self.fractions.values())
        if not shares or not all(math.isfinite(x) and x > 0 for x in shares):
            yield f"fractions must be greater than 0, got {dict(self.fractions)}"

    @property
    def candidates(self) -> int:
        """Return how many candidates a vote is among, at most."""
        return self.population * self.variations

    @property
    def mechanism(self) -> Gaussian:
        """Return what one vote is for a ledger."""
        return Gaussian(self.noise_multiplier)

    def strength(self, iteration: int) -> float:
        """Return how much is varied after a vote, from 1 on.

        >>> settings = EvolutionSettings(1.0, 3, first_strength=0.8, last_strength=0.2)
        >>> [round(settings.strength(i), 2) for i in (1, 2, 3)]
        [0.8, 0.5, 0.2]
        """
        done = (iteration - 1) / max(1, self.iterations - 1)
        return self.first_strength + done * (self.last_strength - self.first_strength)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class MetadataRecipe:
    """What private rows are like, as a table that is released with noise.

    Attributes:
        columns: names of extractors, or field:NAME; values are those of library and public rows.
        schema: instead, a file of columns with their values.
        table: instead, a table that was released before; it costs nothing more.
        share: of epsilon that the table costs.
        method: "aim" or "independent".
        most: values of a column, where columns are named.
    """

    columns: tuple[str, ...] = ()
    schema: str | None = None
    table: str | None = None
    share: float = 0.2
    method: Literal["aim", "independent"] = "aim"
    most: int = 100

    def faults(self) -> Iterable[str]:
        """Yield what is wrong, each with the name of its setting first."""
        sources = [name for name in ("columns", "schema", "table") if getattr(self, name)]
        if len(sources) != 1:
            names = ", ".join(sources) or "none"
            yield f"metadata has one of columns, schema and table, got {names}"
        if not 0 < self.share < 1:
            yield f"share must lie between 0 and 1, got {self.share}"
        if not 1 <= self.most < 1000:
            yield f"most must lie between 1 and 999, got {self.most}"


@dataclass(frozen=True, slots=True)
class GrammarRecipe:
    """Candidates are sentences of the templates, with their programs.

    Attributes:
        grammar: files or folders of templates; none are the shipped ones.
        max_depth, pool_size: as of `genie-dp synthesize`.
    """

    kind: Literal["grammar"] = "grammar"
    grammar: tuple[str, ...] = ()
    max_depth: int = 5
    pool_size: int = 2000


@dataclass(frozen=True, slots=True)
class SeedsRecipe:
    """Candidates are public sentences, and edits of them.

    Attributes:
        examples: files of public sentences with their metadata.
        proposals: of an edit; the most fluent ones win.
    """

    kind: Literal["seeds"] = "seeds"
    examples: tuple[str, ...] = ()
    proposals: int = 8


@dataclass(frozen=True, slots=True)
class _LanguageModelPart:
    """What generators have that ask a language model.

    Attributes:
        examples: files of donated examples, shown in prompts.
        shots: examples in a prompt.
        prompts: file of prompts, in place of the shipped ones.
        variation: how sentences are varied: "continue", "fill" or "rephrase".
        with_metadata: whether prompts tell the metadata.
        most_words: of a sentence.
        tries: for each sentence.
        parser: folder of a parser that gives sentences their programs; None for rows without.
    """

    model: str = ""
    examples: tuple[str, ...] = ()
    shots: int = 4
    prompts: str | None = None
    variation: Literal["continue", "fill", "rephrase"] | None = None
    with_metadata: bool = True
    most_words: int = 40
    tries: int = 3
    parser: str | None = None
    temperature: float = 1.0


@dataclass(frozen=True, slots=True)
class LanguageModelRecipe(_LanguageModelPart):
    """Candidates are said by a causal model of Hugging Face, by name or folder."""

    kind: Literal["language-model"] = "language-model"
    style: Literal["complete", "chat"] | None = None
    device: str = "cpu"
    batch: int = 16
    top_p: float = 0.95
    longest: int = 48


@dataclass(frozen=True, slots=True)
class TrainedRecipe:
    """Candidates are said by a generator of `genie-dp private train`, one-stage or control.

    Attributes:
        model: its folder.
        column: of the metadata, the one that holds its control codes; "" for one-stage.
        device: where it runs.
        tries, most_words, parser: as where a language model is asked.
    """

    kind: Literal["trained"] = "trained"
    model: str = ""
    column: str = ""
    device: str = "cpu"
    tries: int = 3
    most_words: int = 40
    parser: str | None = None


@dataclass(frozen=True, slots=True)
class EndpointRecipe(_LanguageModelPart):
    """Candidates are said by a service that speaks OpenAI's protocol.

    Attributes:
        url: where it is.
        key_variable: environment variable that holds its key.
        per_minute: requests, at most; 0 for no limit.
        per_prompt: prompts in a request.
        at_once: requests under way.
        prompt_price, answer_price: of a million tokens, for the report.
    """

    kind: Literal["endpoint"] = "endpoint"
    url: str = ""
    key_variable: str = "OPENAI_API_KEY"
    per_minute: float = 0.0
    per_prompt: int = 1
    at_once: int = 4
    prompt_price: float = 0.0
    answer_price: float = 0.0


GeneratorRecipe = GrammarRecipe | SeedsRecipe | LanguageModelRecipe | TrainedRecipe | EndpointRecipe
GENERATORS: Mapping[str, type[GeneratorRecipe]] = {
    "grammar": GrammarRecipe,
    "seeds": SeedsRecipe,
    "language-model": LanguageModelRecipe,
    "trained": TrainedRecipe,
    "endpoint": EndpointRecipe,
}


EmbeddingKind = Literal["hashed", "programs", "both", "sentence-transformer"]
EMBEDDINGS: tuple[EmbeddingKind, ...] = get_args(EmbeddingKind)


@dataclass(frozen=True, slots=True)
class EmbeddingRecipe:
    """Where rows lie.

    Attributes:
        kind: "hashed" for words and their parts, "programs", "both", or "sentence-transformer".
        dimensions: of hashed vectors.
        programs: weight of programs where both count; that of sentences is 1.
        folder: of the sentence transformer.
        device: where it runs.
    """

    kind: EmbeddingKind = "hashed"
    dimensions: int = 2048
    programs: float = 1.0
    folder: str | None = None
    device: str = "cpu"

    def faults(self) -> Iterable[str]:
        """Yield what is wrong, each with the name of its setting first."""
        if not 16 <= self.dimensions <= 4096:
            yield f"dimensions must lie between 16 and 4096, got {self.dimensions}"
        if not self.programs > 0:
            yield f"programs must be greater than 0, got {self.programs}"
        if (self.kind == "sentence-transformer") != bool(self.folder):
            yield "folder goes with the kind sentence-transformer, which needs it"


@dataclass(frozen=True, slots=True)
class EvolutionConfig:
    """All that is public of an evolution; fields as in EvolutionSettings, and its parts."""

    epsilon: float | None = None
    metadata: MetadataRecipe | None = None
    generator: GeneratorRecipe = field(default_factory=GrammarRecipe)
    embedding: EmbeddingRecipe = field(default_factory=EmbeddingRecipe)
    iterations: int = setting(5, "Votes, which all cost.", least=1, metavar="T")
    population: int = setting(200, "Winners of a vote.", least=1, metavar="N")
    variations: int = setting(
        4,
        "Candidates for each winner; a vote is among N times L.",
        least=1,
        metavar="L",
    )
    lookahead: int = setting(
        0,
        "Place a candidate where K variations of it are; with 0, where it is.",
        least=0,
        metavar="K",
    )
    neighbours: int = setting(1, "Candidates that a private row votes for.", least=1, metavar="K")
    threshold: float = setting(
        1.0, "Taken off each count, in standard deviations of its noise.", least=0
    )
    selection: Selection = setting(
        "resample", "Draw winners by their votes, or take the first ones.", choices=SELECTIONS
    )
    keep: bool = True
    first_strength: float = 0.8
    last_strength: float = 0.2
    rows: int = setting(1000, "Rows that are written.", least=1, metavar="N")
    label: str = setting(
        "",
        "Each row votes among candidates of its own label; needs shares of labels, of a table or "
        "of the recipe.",
        metavar="COLUMN",
    )
    fractions: Mapping[str, float] | None = None
    seed: int = setting(0, "Of candidates and choices; the noise has none.")

    @property
    def parser(self) -> str | None:
        """Return the folder of the parser that gives sentences their programs, if one does."""
        return getattr(self.generator, "parser", None)

    @property
    def needs_library(self) -> bool:
        """Tell whether skills or declarations are read: for programs, or values of columns."""
        columns = self.metadata.columns if self.metadata else ()
        return bool(
            self.generator.kind == "grammar" or self.parser is not None or needs_library(columns)
        )

    @property
    def public_files(self) -> list[str]:
        """Return the files that are said to be public."""
        generator, metadata = self.generator, self.metadata
        files = list(getattr(generator, "examples", ()))
        if prompts := getattr(generator, "prompts", None):
            files.append(prompts)
        if metadata is not None and metadata.schema:
            files.append(metadata.schema)
        return files

    def settings(self, noise_multiplier: float) -> EvolutionSettings:
        """Return the settings with the noise that was calibrated."""
        names = {f.name for f in fields(EvolutionSettings)} - {"noise_multiplier"}
        return EvolutionSettings(noise_multiplier, **{name: getattr(self, name) for name in names})

    def as_dict(self) -> dict[str, Any]:
        """Return all settings for JSON and YAML."""
        return dataclasses.asdict(self)


def read_recipe(path: Path | None, given: Mapping[str, Any]) -> EvolutionConfig:
    """Return the recipe of a file, with what is given beside it before its settings.

    Args:
        path: the file; None for the defaults.
        given: settings of the first level; None stands for what is not given. A generator or an
            embedding may be given by its kind, which drops options of another kind; they and the
            metadata also by their settings.

    Raises:
        GenieError: U001, it is no map in YAML; U002, names that are none and values of another
            kind; U003, values that are out of range.
    """
    nothing: tuple[Located, dict[str, str]] = (Located({}, Span("", 1, 1, 1, 1)), {})
    content, sources = read_located(path, syntax="U001", twice="U002") if path else nothing
    reader = _EvolutionReader()
    config: EvolutionConfig = reader.read(EvolutionConfig, content, "")
    if reader.problems:
        raise GenieError(reader.problems, sources=sources)
    settings = {
        name: reader.read_part(name, value) if isinstance(value, Mapping) else value
        for name, value in given.items()
        if value is not None
    }
    if reader.problems:
        raise GenieError(reader.problems)
    config = _replace_settings(config, settings)
    try:
        _check(config)
    except GenieError as error:
        # What an option says instead stands nowhere in the file.
        places = {name: span for name, span in reader.places.items() if name not in settings}
        raise place_problems(error, places, sources) from None
    return config


def _replace_settings(config: EvolutionConfig, settings: Mapping[str, Any]) -> EvolutionConfig:
    settings = dict(settings)
    for name, kinds in (("generator", tuple(GENERATORS)), ("embedding", EMBEDDINGS)):
        kind = settings.get(name)
        if not isinstance(kind, str):
            continue
        if kind not in kinds:
            hint = did_you_mean(kind, kinds) or f"kinds: {', '.join(kinds)}"
            raise GenieError(Problem("U002", f"{name}: there is no kind {kind!r}", hint=hint))
        before: Any = getattr(config, name)
        if kind == before.kind:
            settings[name] = before
        elif name == "generator":
            settings[name] = GENERATORS[kind]()
        else:
            settings[name] = replace(before, kind=kind, folder=None)
    return replace(config, **settings)


def _check(config: EvolutionConfig) -> None:
    problems: list[Problem] = []
    for part in (config.metadata, config.embedding):
        if part is not None:
            problems.extend(Problem("U003", fault) for fault in part.faults())
    problems.extend(Problem("U003", fault) for fault in _generator_faults(config.generator))
    try:
        config.settings(1.0)
    except GenieError as error:
        problems.extend(error.problems)
    if problems:
        raise GenieError(problems)


def _generator_faults(recipe: GeneratorRecipe) -> Iterable[str]:
    needed = {
        "language-model": ("model",), "trained": ("model",), "endpoint": ("model", "url"),
        "seeds": ("examples",),
    }  # fmt: skip
    for name in needed.get(recipe.kind, ()):
        if not getattr(recipe, name):
            yield f"generator {recipe.kind}: expected {name}, got none"
    numbers = (
        "proposals", "tries", "most_words", "batch", "longest", "per_prompt", "at_once",
        "max_depth", "pool_size",
    )  # fmt: skip
    for number in numbers:
        if getattr(recipe, number, 1) < 1:
            yield f"{number} must be at least 1, got {getattr(recipe, number)}"
    for number in ("shots", "per_minute", "prompt_price", "answer_price"):
        if getattr(recipe, number, 0) < 0:
            yield f"{number} must be at least 0, got {getattr(recipe, number)}"


# ---------------------------------------------------------------------------------- reading


class _EvolutionReader:
    """Makes dataclasses of located values, and collects what is wrong.

    Attributes:
        problems: all mistakes.
        places: setting -> where it stands; names of parts are without those of their wholes.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.places: dict[str, Span] = {}

    def read(self, kind: Any, content: Located, where: str) -> Any:
        """Return a dataclass of a map; settings that are wrong have their defaults."""
        kinds = typing.get_type_hints(kind)
        values: dict[str, Any] = {}
        for name, (span, value) in content.value.items():
            if name not in kinds:
                hint = did_you_mean(name, kinds) or f"settings: {', '.join(kinds)}"
                self._wrong(f"{where}unknown setting {name!r}", span, hint)
                continue
            self.places[name] = value.span
            part = self._part(name, kinds[name], value)
            if part is not None:
                values[name] = part
        return kind(**values)

    def read_part(self, name: str, value: Mapping[str, Any]) -> Any:
        """Return a setting of the first level from plain values, which stand nowhere."""
        places, self.places = self.places, {}
        kind = typing.get_type_hints(EvolutionConfig).get(name, Any)
        part = self._part(name, kind, _locate(value))
        self.places = places
        return part

    def _part(self, name: str, kind: Any, value: Located) -> Any:
        if name in ("generator", "embedding") and isinstance(value.value, str):
            value = Located({"kind": (value.span, value)}, value.span)
        if name == "generator":
            return self._generator(value)
        alternatives = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
        for part in alternatives:
            if dataclasses.is_dataclass(part) and isinstance(value.value, dict):
                return self.read(part, value, f"{name}: ")
        if not fits(value.plain, kind):
            self._wrong(f"{name}: expected {kind_in_words(kind)}, got {value.plain!r}", value.span)
            return None
        return tuple(value.plain) if isinstance(value.plain, list) else value.plain

    def _generator(self, value: Located) -> Any:
        if not isinstance(value.value, dict):
            self._wrong("generator: expected settings by name", value.span)
            return None
        span, kind = value.value.get("kind", (value.span, Located("grammar", value.span)))
        if kind.plain not in GENERATORS:
            hint = did_you_mean(str(kind.plain), GENERATORS) or f"kinds: {', '.join(GENERATORS)}"
            self._wrong(f"generator: there is no kind {kind.plain!r}", kind.span, hint)
            return None
        return self.read(GENERATORS[kind.plain], value, f"generator {kind.plain}: ")

    def _wrong(self, message: str, span: Span, hint: str | None = None) -> None:
        self.problems.append(Problem("U002", message, span if span.file else None, hint))


def _locate(value: Any) -> Located:
    """Return plain values as those of a file that has no name."""
    nowhere = Span("", 1, 1, 1, 1)
    if isinstance(value, Mapping):
        return Located({name: (nowhere, _locate(part)) for name, part in value.items()}, nowhere)
    if isinstance(value, list | tuple):
        return Located([_locate(part) for part in value], nowhere)
    return Located(value, nowhere)


def as_yaml(config: EvolutionConfig) -> str:
    """Return a recipe with every setting and its value.

    >>> print(as_yaml(EvolutionConfig()).splitlines()[2])
    generator:
    """
    return settings_as_yaml(config.as_dict())
