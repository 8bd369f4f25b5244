"""Recipes of private evolution: YAML to settings, and back; every mistake with its place."""

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.located import Located, placed, read_located
from genie_dp.private.evolution.settings import EvolutionSettings
from genie_dp.recipe import fits, said, written


@dataclass(frozen=True, slots=True)
class MetadataRecipe:
    """What private rows are like, as a table that is released with noise.

    Attributes:
        columns: names of extractors, or field:NAME; values are those of library and public rows.
        schema: instead, a file of columns with their values.
        table: instead, a table that was released before; it costs nothing more.
        share: of epsilon that the table costs.
        method: "aim", "independent", or "uniform" for a table that costs nothing and knows nothing.
        backend: what fits the table.
        most: values of a column, where columns are named.
    """

    columns: tuple[str, ...] = ()
    schema: str | None = None
    table: str | None = None
    share: float = 0.2
    method: Literal["aim", "independent", "uniform"] = "aim"
    backend: Literal["numpy", "mbi"] = "numpy"
    most: int = 100

    def faults(self) -> Iterable[str]:
        """Yield what is wrong, each with the name of its setting first."""
        given = [name for name in ("columns", "schema", "table") if getattr(self, name)]
        if len(given) != 1:
            yield f"metadata has one of columns, schema and table, got {', '.join(given) or 'none'}"
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
class _Asked:
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
class LanguageModelRecipe(_Asked):
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
class EndpointRecipe(_Asked):
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

    kind: Literal["hashed", "programs", "both", "sentence-transformer"] = "hashed"
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
class Recipe:
    """All that is public of an evolution; fields as in EvolutionSettings, and its parts."""

    epsilon: float | None = None
    metadata: MetadataRecipe | None = None
    generator: GeneratorRecipe = field(default_factory=GrammarRecipe)
    embedding: EmbeddingRecipe = field(default_factory=EmbeddingRecipe)
    iterations: int = 5
    population: int = 200
    variations: int = 4
    lookahead: int = 0
    neighbours: int = 1
    threshold: float = 1.0
    selection: Literal["resample", "rank"] = "resample"
    keep: bool = True
    first_strength: float = 0.8
    last_strength: float = 0.2
    rows: int = 1000
    label: str = ""
    fractions: Mapping[str, float] | None = None
    backend: Literal["numpy", "faiss"] = "numpy"
    seed: int = 0

    def settings(self, noise_multiplier: float) -> EvolutionSettings:
        """Return the settings with the noise that was calibrated."""
        names = {f.name for f in fields(EvolutionSettings)} - {"noise_multiplier"}
        return EvolutionSettings(noise_multiplier, **{name: getattr(self, name) for name in names})

    def as_dict(self) -> dict[str, Any]:
        """Return all settings for JSON and YAML."""
        return dataclasses.asdict(self)


def read_recipe(path: Path | None, given: Mapping[str, Any]) -> Recipe:
    """Return the recipe of a file, with what is given beside it before its settings.

    Args:
        path: the file; None for the defaults.
        given: settings of the first level; None stands for what is not given. A generator or an
            embedding may be given by its kind, which drops options of another kind.

    Raises:
        GenieError: U001, it is no map in YAML; U002, names that are none and values of another
            kind; U003, values that are out of range.
    """
    nothing: tuple[Located, dict[str, str]] = (Located({}, Span("", 1, 1, 1, 1)), {})
    found, sources = read_located(path, syntax="U001", twice="U002") if path else nothing
    reader = _Reader()
    recipe = reader.read(Recipe, found, "")
    if reader.problems:
        raise GenieError(reader.problems, sources=sources)
    recipe = _overridden(recipe, given)
    try:
        _check(recipe)
    except GenieError as error:
        # What an option says instead stands nowhere in the file.
        said = {name for name, value in given.items() if value is not None}
        names = {name: span for name, span in reader.places.items() if name not in said}
        raise placed(error, names, sources) from None
    return recipe


def _overridden(recipe: Recipe, given: Mapping[str, Any]) -> Recipe:
    plain = {name: value for name, value in given.items() if value is not None}
    kind = plain.pop("generator", None)
    if kind is not None and kind != recipe.generator.kind:
        recipe = replace(recipe, generator=GENERATORS[kind]())
    kind = plain.pop("embedding", None)
    if kind is not None and kind != recipe.embedding.kind:
        recipe = replace(recipe, embedding=replace(recipe.embedding, kind=kind, folder=None))
    return replace(recipe, **plain)


def _check(recipe: Recipe) -> None:
    problems: list[Problem] = []
    for part in (recipe.metadata, recipe.embedding):
        if part is not None:
            problems.extend(Problem("U003", fault) for fault in part.faults())
    problems.extend(Problem("U003", fault) for fault in _generator_faults(recipe.generator))
    try:
        recipe.settings(1.0)
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


class _Reader:
    """Makes dataclasses of located values, and collects what is wrong.

    Attributes:
        problems: all mistakes.
        places: setting -> where it stands; names of parts are without those of their wholes.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.places: dict[str, Span] = {}

    def read(self, kind: Any, found: Located, where: str) -> Any:
        """Return a dataclass of a map; settings that are wrong have their defaults."""
        known = typing.get_type_hints(kind)
        values: dict[str, Any] = {}
        for name, (span, value) in found.value.items():
            if name not in known:
                hint = did_you_mean(name, known) or f"settings: {', '.join(known)}"
                self._wrong(f"{where}unknown setting {name!r}", span, hint)
                continue
            self.places[name] = value.span
            part = self._part(name, known[name], value)
            if part is not None:
                values[name] = part
        return kind(**values)

    def _part(self, name: str, kind: Any, value: Located) -> Any:
        if name in ("generator", "embedding") and isinstance(value.value, str):
            value = Located({"kind": (value.span, value)}, value.span)
        if name == "generator":
            return self._generator(value)
        for one in _options(kind):
            if dataclasses.is_dataclass(one) and isinstance(value.value, dict):
                return self.read(one, value, f"{name}: ")
        if not fits(value.plain, kind):
            self._wrong(f"{name}: expected {said(kind)}, got {value.plain!r}", value.span)
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
        self.problems.append(Problem("U002", message, span, hint))


def _options(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)


def as_yaml(recipe: Recipe) -> str:
    """Return the recipe with every setting and its value.

    >>> print(as_yaml(Recipe()).splitlines()[2])
    generator:
    """
    return written(recipe.as_dict())
