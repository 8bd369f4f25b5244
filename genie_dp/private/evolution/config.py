"""The settings of an evolution, all of them public: from Python, options, and recipes in YAML."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.located import Located, place_problems, read_located
from genie_dp.private.ledger.mechanisms import Gaussian
from genie_dp.private.tables.extract import needs_library
from genie_dp.recipe import read_settings, setting, settings_as_yaml

Selection = Literal["resample", "rank"]
SELECTIONS: tuple[Selection, ...] = get_args(Selection)
Fault = tuple[str, str]
"""A setting, and what is wrong with it."""


def _problems(faults: Iterable[Fault], part: str = "") -> Iterator[Problem]:
    """Yield the faults of settings, those of a part of a recipe at their places in it."""
    for name, fault in faults:
        path = (part, name) if part and name != part else (name,)
        yield Problem("U003", f"{name} {fault}", setting=path)


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
        if problems := list(_problems(self._faults())):
            raise GenieError(problems)

    def _faults(self) -> Iterator[Fault]:
        if not (math.isfinite(self.noise_multiplier) and self.noise_multiplier > 0):
            yield "noise_multiplier", f"must be greater than 0, got {self.noise_multiplier}"
        for name in ("iterations", "population", "variations", "neighbours", "rows"):
            if getattr(self, name) < 1:
                yield name, f"must be at least 1, got {getattr(self, name)}"
        if self.lookahead < 0:
            yield "lookahead", f"must be at least 0, got {self.lookahead}"
        if self.keep and self.variations < 2 and self.iterations > 1:
            message = f"must be at least 2 where winners are kept, got {self.variations}"
            yield "variations", message
        if not (math.isfinite(self.threshold) and self.threshold >= 0):
            yield "threshold", f"must be at least 0, got {self.threshold}"
        for name in ("first_strength", "last_strength"):
            if not 0 <= getattr(self, name) <= 1:
                yield name, f"must lie in [0, 1], got {getattr(self, name)}"
        if self.selection not in SELECTIONS:
            yield "selection", f"must be one of {', '.join(SELECTIONS)}, got {self.selection!r}"
        yield from self._wrong_fractions()

    def _wrong_fractions(self) -> Iterator[Fault]:
        if self.fractions is None:
            return
        if not self.label:
            yield "fractions", "are of labels: name the label's column"
        shares = list(self.fractions.values())
        if not shares or not all(math.isfinite(x) and x > 0 for x in shares):
            yield "fractions", f"must be greater than 0, got {dict(self.fractions)}"

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

    def faults(self) -> Iterator[Fault]:
        """Yield what is wrong, each after the name of its setting."""
        sources = [name for name in ("columns", "schema", "table") if getattr(self, name)]
        if len(sources) != 1:
            names = ", ".join(sources) or "none"
            yield "metadata", f"has one of columns, schema and table, got {names}"
        if not 0 < self.share < 1:
            yield "share", f"must lie between 0 and 1, got {self.share}"
        if not 1 <= self.most < 1000:
            yield "most", f"must lie between 1 and 999, got {self.most}"


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

    def faults(self) -> Iterator[Fault]:
        """Yield what is wrong, each after the name of its setting."""
        if not 16 <= self.dimensions <= 4096:
            yield "dimensions", f"must lie between 16 and 4096, got {self.dimensions}"
        if not self.programs > 0:
            yield "programs", f"must be greater than 0, got {self.programs}"
        if (self.kind == "sentence-transformer") != bool(self.folder):
            yield "folder", "goes with the kind sentence-transformer, which needs it"


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
    content, sources = Located.of({}), dict[str, str]()
    if path is not None:
        content, sources = read_located(path, syntax="U001", twice="U002")
    read = read_settings(EvolutionConfig, content, code="U002", sources=sources)
    settings = {name: value for name, value in given.items() if value is not None}
    parts = {name: value for name, value in settings.items() if isinstance(value, Mapping)}
    settings |= read_settings(EvolutionConfig, Located.of(parts), code="U002")
    config = _replace_settings(EvolutionConfig(**read), settings)
    try:
        _check(config)
    except GenieError as error:
        raise place_problems(error, content, sources, without=settings) from None
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
    problems = list(_problems(_generator_faults(config.generator), "generator"))
    problems += _problems(config.embedding.faults(), "embedding")
    if config.metadata is not None:
        problems += _problems(config.metadata.faults(), "metadata")
    try:
        config.settings(1.0)
    except GenieError as error:
        problems.extend(error.problems)
    if problems:
        raise GenieError(problems)


def _generator_faults(recipe: GeneratorRecipe) -> Iterator[Fault]:
    needed = {
        "language-model": ("model",), "trained": ("model",), "endpoint": ("model", "url"),
        "seeds": ("examples",),
    }  # fmt: skip
    for name in needed.get(recipe.kind, ()):
        if not getattr(recipe, name):
            yield "generator", f"{recipe.kind}: expected {name}, got none"
    numbers = (
        "proposals", "tries", "most_words", "batch", "longest", "per_prompt", "at_once",
        "max_depth", "pool_size",
    )  # fmt: skip
    for number in numbers:
        if getattr(recipe, number, 1) < 1:
            yield number, f"must be at least 1, got {getattr(recipe, number)}"
    for number in ("shots", "per_minute", "prompt_price", "answer_price"):
        if getattr(recipe, number, 0) < 0:
            yield number, f"must be at least 0, got {getattr(recipe, number)}"


def as_yaml(config: EvolutionConfig) -> str:
    """Return a recipe with every setting and its value.

    >>> print(as_yaml(EvolutionConfig()).splitlines()[2])
    generator:
    """
    return settings_as_yaml(config.as_dict())
