"""Generators and embeddings of an evolution: from its config to what does the work."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.models.device import prepare_torch
from genie_dp.private.evolution import config as recipes
from genie_dp.private.evolution import embedding, prompting, seeds
from genie_dp.private.evolution.generator import CandidateGenerator
from genie_dp.private.evolution.prompting import Asking, Completer, Style
from genie_dp.private.generators import rows
from genie_dp.private.tables.schema import Schema
from genie_dp.skills.words import join_tokens
from genie_dp.templates.cache import inputs_of, load_inputs


def use_parser(
    config: recipes.EvolutionRecipe, parser: Any
) -> tuple[recipes.EvolutionRecipe, rows.OpenParser | None]:
    """Return the config with the folder of a parser, and what gives the parser itself.

    Args:
        config: its generator may ask a parser for programs.
        parser: a `Parser` that was read from a folder, or None.

    Raises:
        GenieError: U003, the generator makes programs; that of `rows.use_parser`.
    """
    folder = rows.use_parser(parser, code="U003")
    if folder is None:
        return config, None
    if not hasattr(config.generator, "parser"):
        message = f"generator {config.generator.kind}: it asks no parser"
        raise GenieError(Problem("U003", message, hint="leave the parser out"))
    recipe: Any = config.generator
    return replace(config, generator=replace(recipe, parser=str(folder.path))), folder.opener


def build_embedding(recipe: recipes.EmbeddingRecipe, language: Language) -> embedding.Embedding:
    """Return the embedding of a recipe, ready to be used."""
    words = embedding.HashedNgramEmbedding(recipe.dimensions)
    programs = embedding.ProgramBag.for_language(language, recipe.dimensions)
    match recipe.kind:
        case "hashed":
            return words
        case "programs":
            return programs
        case "both":
            return embedding.Both(((words, 1.0), (programs, recipe.programs)))
        case "sentence-transformer":
            assert recipe.folder is not None  # the recipe was checked
            transformer = embedding.SentenceTransformer(Path(recipe.folder), recipe.device)
            transformer.load()
            return transformer


@dataclass(frozen=True, slots=True)
class GeneratorBuilder:
    """Builds the generator of a config.

    Attributes:
        config: the config; its label is the name of a column.
        language, library: of the programs.
        grammar: files of templates, which go before those of the config.
        schema: columns of the metadata, if there are any.
        work: folder of the run: a service's answers are kept there.
        open_parser: needed where sentences get their programs from a parser.
        threads: of torch, where a model is used.
    """

    config: recipes.EvolutionRecipe
    language: Language
    library: Library | None
    grammar: Sequence[Path]
    schema: Schema | None
    work: Path
    open_parser: rows.OpenParser | None = None
    threads: int = 1

    def build(self) -> CandidateGenerator:
        """Return the generator.

        Raises:
            GenieError: N008, there is no such device; U003, there is no parser; those of what is
                read.
        """
        recipe = self.config.generator
        if recipe.kind in ("language-model", "trained") or self.config.parser:
            prepare_torch(getattr(recipe, "device", "cpu"), self.threads)
        match recipe:
            case recipes.GrammarRecipe():
                return self._grammar(recipe)
            case recipes.SeedsRecipe(examples=files, proposals=proposals):
                donated = self._read_donated(files)
                return seeds.SeedGenerator(donated, labels=self._labels, proposals=proposals)
            case recipes.LanguageModelRecipe():
                from genie_dp.private.evolution import language_model

                settings = language_model.CompleterSettings(
                    recipe.model,
                    style=recipe.style,
                    device=recipe.device,
                    batch=recipe.batch,
                    temperature=recipe.temperature,
                    top_p=recipe.top_p,
                    longest=recipe.longest,
                )
                return self._from_completer(recipe, language_model.load_language_model(settings))
            case recipes.TrainedRecipe():
                from genie_dp.private.evolution.own_model import load_own_model

                model, prompter = load_own_model(
                    Path(recipe.model), column=recipe.column, device=recipe.device
                )
                return self._build_prompted(model, prompter, recipe)
            case recipes.EndpointRecipe():
                return self._from_completer(recipe, _endpoint(recipe, self.work))

    def _grammar(self, recipe: recipes.GrammarRecipe) -> CandidateGenerator:
        """Return the generator of a grammar, whose engine is built as synthesis builds its own.

        Leaves are those that synthesis keeps, too. All templates are compiled, since derivations
        name those of leaves.
        """
        from genie_dp.private.evolution.grammar import GrammarGenerator
        from genie_dp.synthesis.cache import load_leaves, make_and_save_leaves
        from genie_dp.synthesis.compiler import compile_grammar
        from genie_dp.synthesis.config import SynthesisConfig
        from genie_dp.synthesis.engine import build_engine
        from genie_dp.templates.grammar import subset

        grammar = tuple(self.grammar) or tuple(map(Path, recipe.grammar))
        if self.library is None:  # S-expressions without declarations
            inputs = load_inputs(self.language.name, (), grammar)
        else:
            inputs = inputs_of(self.library, grammar)
        config = SynthesisConfig(max_depth=recipe.max_depth, pool_size=recipe.pool_size)
        compiled = compile_grammar(
            subset(inputs.grammar, config.subsets), inputs.language, inputs.library, config, None
        )
        leaves = load_leaves(inputs, config) or make_and_save_leaves(inputs, compiled, config)
        engine = build_engine(compiled, config, leaves, with_origins=True)
        return GrammarGenerator(engine, inputs=inputs.fingerprint(), schema=self.schema)

    def _from_completer(
        self, recipe: recipes.LanguageModelRecipe | recipes.EndpointRecipe, completer: Completer
    ) -> CandidateGenerator:
        style: Style = getattr(completer, "style", "chat")
        if recipe.prompts:
            templates = prompting.load_templates(Path(recipe.prompts), style)
        else:
            templates = prompting.shipped_templates(style)
        columns = self.schema.columns if self.schema else ()
        prompter = prompting.Prompter(
            templates,
            style,
            recipe.variation,
            seeds.Pool(self._read_donated(recipe.examples), self._labels),
            recipe.shots,
            {column.name: column.values for column in columns} or None,
            recipe.with_metadata,
        )
        return self._build_prompted(completer, prompter, recipe)

    @property
    def _labels(self) -> tuple[str, ...]:
        return (self.config.label,) if self.config.label else ()

    def _read_donated(self, files: Sequence[str]) -> list[seeds.Donated]:
        """Return public examples, their sentences as synthesis and private rows write them.

        Columns of the metadata that can be read from an example are added to what it says of
        itself.
        """
        examples = [
            seeds.Donated(join_tokens(example.utterance), example.metadata, example.program)
            for name in files
            for example in seeds.read_donated(Path(name))
        ]
        if self.schema is None:
            return examples
        return [
            seeds.complete_metadata(example, self.schema, self.language.name)
            for example in examples
        ]

    def _build_prompted(
        self,
        completer: Completer,
        prompter: Asking,
        recipe: recipes.LanguageModelRecipe | recipes.TrainedRecipe | recipes.EndpointRecipe,
    ) -> CandidateGenerator:
        """Return the generator of a model, whose sentences get programs if the config says so."""
        reading, programs = prompting.AnswerReading(recipe.most_words, join_tokens), None
        if self.config.parser is not None:
            if self.open_parser is None:
                message = f"nothing opens the parser {self.config.parser}"
                raise GenieError(Problem("U003", message, hint="give the parser itself"))
            folder = Path(self.config.parser)
            parser = self.open_parser(folder)
            programs = prompting.ProgramWriter(parser, folder.name, self.language, self.library)
        return prompting.PromptedGenerator(completer, prompter, reading, programs, recipe.tries)


def _endpoint(recipe: recipes.EndpointRecipe, work: Path) -> Completer:
    from genie_dp.paraphrase.endpoint import Client
    from genie_dp.paraphrase.journal import open_journal
    from genie_dp.private.evolution.endpoint import Endpoint, Prices, service_of

    service = service_of(
        recipe.url,
        recipe.model,
        key_variable=recipe.key_variable,
        temperature=recipe.temperature,
        per_minute=recipe.per_minute,
        per_prompt=recipe.per_prompt,
    )
    # Answers are in the work folder, which is this run's alone: they are always gone on with.
    journal = open_journal(work / "answers.jsonl", resume=True, overwrite=False)
    prices = Prices(recipe.prompt_price, recipe.answer_price)
    return Endpoint(Client(service), journal, prices, recipe.per_prompt, recipe.at_once)


def describe_work(generator: CandidateGenerator) -> dict[str, Any]:
    """Return what a generator says of its work, for the report."""
    figures: dict[str, Any] = {}
    if (tally := getattr(generator, "tally", None)) is not None:
        figures |= tally.as_dict()
    completer = getattr(generator, "completer", None)
    if completer is not None and hasattr(completer, "cost"):
        from genie_dp.private.evolution.endpoint import report_of

        figures |= report_of(completer)
    return figures
