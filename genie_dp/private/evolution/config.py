"""The settings of an evolution, all of them public: from Python, options, and recipes in YAML."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.located import Located, place_problems, read_located
from genie_dp.private.tables.extract import needs_library
from genie_dp.recipe import check_names, read_settings, setting, setting_problems, settings_as_yaml

Selection = Literal["resample", "rank"]
SELECTIONS: tuple[Selection, ...] = get_args(Selection)


@dataclass(frozen=True, slots=True)
class EvolutionSettings:
    """How candidates are voted for, chosen and varied."""

    iterations: int = setting(5, "Votes, which all cost.", least=1, metavar="T")
    population: int = setting(200, "Winners of a vote.", least=1, metavar="N")
    variations: int = setting(
        4, "Candidates for each winner; a vote is among N times L.", least=1, metavar="L"
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
    keep: bool = setting(
        True,
        "Whether winners are candidates again, with variations [keep].",
        option="keep/--replace",
    )
    first_strength: float = setting(
        0.8, "How much is varied after the first vote.", least=0, most=1, option=None
    )
    last_strength: float = setting(
        0.2, "How much is varied after the last vote.", least=0, most=1, option=None
    )
    rows: int = setting(1000, "Rows that are written.", least=1, metavar="N")
    label: str = setting(
        "",
        "Each row votes among candidates of its own label; needs shares of labels, of a table or "
        "of the recipe.",
        metavar="COLUMN",
    )
    fractions: Mapping[str, float] | None = setting(
        None, "Shares of candidates by label [those of the table].", above=0, option=None
    )
    seed: int = setting(0, "Of candidates and choices; the noise has none.")

    def __post_init__(self) -> None:
        """Refuse settings out of range, and those that do not go together (U003)."""
        if problems := [*setting_problems(self, code="U003"), *self.conflicts()]:
            raise GenieError(problems)

    def conflicts(self) -> Iterator[Problem]:
        """Yield settings that exclude or need each other."""
        if self.keep and self.variations < 2 and self.iterations > 1:
            message = f"variations must be at least 2 where winners are kept, got {self.variations}"
            yield _conflict(message, "variations")
        if self.fractions is not None and not self.label:
            yield _conflict("fractions are of labels: name the label's column", "fractions")

    @property
    def candidates(self) -> int:
        """Return how many candidates a vote is among, at most."""
        return self.population * self.variations

    def strength(self, iteration: int) -> float:
        """Return how much is varied after a vote, from 1 on.

        >>> settings = EvolutionSettings(3, first_strength=0.8, last_strength=0.2)
        >>> [round(settings.strength(i), 2) for i in (1, 2, 3)]
        [0.8, 0.5, 0.2]
        """
        done = (iteration - 1) / max(1, self.iterations - 1)
        return self.first_strength + done * (self.last_strength - self.first_strength)

    def of_votes(self, noise_multiplier: float) -> dict[str, Any]:
        """Return the settings that votes depend on, for JSON, without the sources of candidates."""
        settings = {field.name: getattr(self, field.name) for field in fields(EvolutionSettings)}
        return {"noise_multiplier": noise_multiplier, **settings}


def _conflict(message: str, *setting: str) -> Problem:
    return Problem("U003", message, setting=setting)


@dataclass(frozen=True, slots=True)
class MetadataRecipe:
    """A table of the metadata of private rows, released with noise or before."""

    columns: tuple[str, ...] = setting(
        (), "Names of extractors, or field:NAME; values are those of library and public rows."
    )
    schema: str | None = setting(None, "Instead, a file of columns with their values.")
    table: str | None = setting(
        None, "Instead, a table that was released before; it costs nothing more."
    )
    share: float = setting(0.2, "Share of epsilon that the table costs.", above=0, below=1)
    method: Literal["aim", "independent"] = setting("aim", "How the table is measured.")
    most: int = setting(100, "Values of a column, where columns are named.", least=1, most=999)


@dataclass(frozen=True, slots=True)
class GrammarRecipe:
    """Candidates are sentences of the templates, with their programs."""

    needs: ClassVar[tuple[str, ...]] = ()
    kind: Literal["grammar"] = "grammar"
    grammar: tuple[str, ...] = setting((), "Files or folders of templates [shipped].")
    max_depth: int = setting(5, "As of genie-dp synthesize.", least=1)
    pool_size: int = setting(2000, "As of genie-dp synthesize.", least=1)


@dataclass(frozen=True, slots=True)
class SeedsRecipe:
    """Candidates are public sentences, and edits of them."""

    needs: ClassVar[tuple[str, ...]] = ("examples",)
    kind: Literal["seeds"] = "seeds"
    examples: tuple[str, ...] = setting((), "Files of public sentences with their metadata.")
    proposals: int = setting(8, "Proposals of an edit; the most fluent ones win.", least=1)


@dataclass(frozen=True, slots=True)
class ModelRecipe:
    """The settings of generators that ask a model for sentences."""

    needs: ClassVar[tuple[str, ...]] = ("model",)
    model: str = setting("", "Its name, or its folder.")
    most_words: int = setting(40, "Words of a sentence.", least=1)
    tries: int = setting(3, "Tries for each sentence.", least=1)
    parser: str | None = setting(
        None, "Folder of a parser that gives sentences their programs; without, they have none."
    )


@dataclass(frozen=True, slots=True)
class PromptRecipe(ModelRecipe):
    """The settings of generators that ask a language model by prompts."""

    examples: tuple[str, ...] = setting((), "Files of donated examples, shown in prompts.")
    shots: int = setting(4, "Examples in a prompt.", least=0)
    prompts: str | None = setting(None, "File of prompts, in place of the shipped ones.")
    variation: Literal["continue", "fill", "rephrase"] | None = setting(
        None, "How sentences are varied."
    )
    with_metadata: bool = setting(True, "Whether prompts contain the metadata.")
    temperature: float = setting(1.0, "Temperature of sampling.")


@dataclass(frozen=True, slots=True)
class LanguageModelRecipe(PromptRecipe):
    """Candidates are written by a causal model of Hugging Face, by name or folder."""

    kind: Literal["language-model"] = "language-model"
    style: Literal["complete", "chat"] | None = setting(
        None, "Whether it goes on with text, or answers turns [by its tokenizer]."
    )
    device: str = setting("cpu", "cpu, cuda, cuda:1 .., or auto.")
    batch: int = setting(16, "Prompts at once.", least=1)
    top_p: float = setting(0.95, "Probability of the tokens that are sampled.")
    longest: int = setting(48, "Tokens of an answer.", least=1)


@dataclass(frozen=True, slots=True)
class TrainedRecipe(ModelRecipe):
    """Candidates are written by a generator of `genie-dp private train`, one-stage or control."""

    kind: Literal["trained"] = "trained"
    column: str = setting("", "Column of the metadata that holds its control codes, if it has any.")
    device: str = setting("cpu", "cpu, cuda, cuda:1 ..")


@dataclass(frozen=True, slots=True)
class EndpointRecipe(PromptRecipe):
    """Candidates are written by a service that speaks OpenAI's protocol."""

    needs: ClassVar[tuple[str, ...]] = ("model", "url")
    kind: Literal["endpoint"] = "endpoint"
    url: str = setting("", "Its address.")
    key_variable: str = setting("OPENAI_API_KEY", "Environment variable that holds its key.")
    per_minute: float = setting(0.0, "Requests, at most; 0 for no limit.", least=0)
    per_prompt: int = setting(1, "Prompts in a request.", least=1)
    at_once: int = setting(4, "Requests under way.", least=1)
    prompt_price: float = setting(0.0, "Of a million tokens of prompts.", least=0)
    answer_price: float = setting(0.0, "Of a million tokens of answers.", least=0)


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
    """Where rows lie."""

    kind: EmbeddingKind = "hashed"
    dimensions: int = setting(2048, "Dimensions of hashed vectors.", least=16, most=4096)
    programs: float = setting(
        1.0, "Weight of programs where both count; that of sentences is 1.", above=0
    )
    folder: str | None = setting(None, "Folder of the sentence transformer.")
    device: str = setting("cpu", "Where that runs: cpu, cuda, cuda:1 ..")


@dataclass(frozen=True, slots=True)
class EvolutionRecipe(EvolutionSettings):
    """All that is public of an evolution.

    Attributes:
        epsilon: cost of votes and table together, unless the command gives it.
    """

    epsilon: float | None = None
    metadata: MetadataRecipe | None = setting(
        None, "Noisy table of metadata, for which the first candidates are made.", option=None
    )
    generator: GeneratorRecipe = setting(
        GrammarRecipe(), "What makes candidates [grammar].", choices=tuple(GENERATORS)
    )
    embedding: EmbeddingRecipe = setting(
        EmbeddingRecipe(),
        "What nearness is of: words, programs, or both [hashed].",
        choices=EMBEDDINGS,
    )

    @classmethod
    def read(cls, recipe: Path | None, given: Mapping[str, Any]) -> Self:
        """Return the settings of a file; settings that are given beside it go before them.

        Args:
            recipe: the file; None for the defaults.
            given: settings by name; None stands for none. A generator or an embedding
                may be given by its kind, which drops options of another kind.

        Raises:
            GenieError: U001, the file is no map in YAML; U002, names that are no settings and
                values of another kind; R043, such a name is given; U003, values that are out of
                range.
        """
        check_names(cls, given, without=("epsilon",))
        content, sources = Located.of({}), dict[str, str]()
        if recipe is not None:
            content, sources = read_located(recipe, syntax="U001", twice="U002")
        beside = {name: value for name, value in given.items() if value is not None}
        for name in ("generator", "embedding"):
            kind, part = beside.get(name), content.value.get(name)
            if isinstance(kind, str) and part is not None and isinstance(part[1].value, dict):
                before = part[1].plain
                if before.get("kind", getattr(cls(), name).kind) == kind:
                    del beside[name]
                elif name == "embedding":
                    beside[name] = {**before, "kind": kind, "folder": None}
        merged = content.value | Located.of(beside).value
        settings = read_settings(cls, replace(content, value=merged), code="U002", sources=sources)
        try:
            return cls(**settings)
        except GenieError as error:
            raise place_problems(error, content, sources, without=beside) from None

    def conflicts(self) -> Iterator[Problem]:
        """Yield settings that exclude or need each other."""
        yield from super(EvolutionRecipe, self).conflicts()
        for name in self.generator.needs:
            if not getattr(self.generator, name):
                message = f"generator {self.generator.kind}: expected {name}, got none"
                yield _conflict(message, "generator")
        if (self.embedding.kind == "sentence-transformer") != bool(self.embedding.folder):
            message = "folder goes with the kind sentence-transformer, which needs it"
            yield _conflict(message, "embedding", "folder")
        if self.metadata is not None:
            sources = [n for n in ("columns", "schema", "table") if getattr(self.metadata, n)]
            if len(sources) != 1:
                names = ", ".join(sources) or "none"
                message = f"metadata has one of columns, schema and table, got {names}"
                yield _conflict(message, "metadata")

    @property
    def parser(self) -> str | None:
        """Return the folder of the parser that gives sentences their programs, if one does."""
        return self.generator.parser if isinstance(self.generator, ModelRecipe) else None

    @property
    def needs_library(self) -> bool:
        """Return whether skills or declarations are read: for programs, or values of columns."""
        columns = self.metadata.columns if self.metadata else ()
        return bool(
            self.generator.kind == "grammar" or self.parser is not None or needs_library(columns)
        )

    @property
    def public_files(self) -> list[str]:
        """Return the files that must be public."""
        generator, schema = self.generator, self.metadata.schema if self.metadata else None
        files = [*getattr(generator, "examples", ()), getattr(generator, "prompts", None), schema]
        return [file for file in files if file]

    def as_dict(self) -> dict[str, Any]:
        """Return all settings for JSON and YAML."""
        return dataclasses.asdict(self)


def as_yaml(recipe: EvolutionRecipe) -> str:
    """Return a recipe with every setting and its value.

    >>> print(as_yaml(EvolutionRecipe()).splitlines()[0])
    iterations: 5
    """
    return settings_as_yaml(recipe.as_dict())
