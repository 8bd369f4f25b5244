"""Generators and embeddings of an evolution, built from its recipe."""

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
from genie_dp.private.evolution.generator import (
    CandidateGenerator,
    Donated,
    Pool,
    complete_metadata,
    read_donated,
)
from genie_dp.private.evolution.prompting import Asking, Completer, Style
from genie_dp.private.generators import rows
from genie_dp.private.tables.schema import Schema
from genie_dp.skills.words import join_tokens
from genie_dp.templates.cache import inputs_of, load_inputs


def use_parser(
    recipe: recipes.EvolutionRecipe, parser: Any
) -> tuple[recipes.EvolutionRecipe, rows.OpenParser | None]:
    """Return the recipe with the folder of a parser, and the opener of the parser itself.

    Args:
        recipe: its generator may ask a parser for programs.
        parser: a `Parser` that was read from a folder, or None.

    Raises:
        GenieError: U003, the generator makes programs; that of `rows.use_parser`.
    """
    folder = rows.use_parser(parser, code="U003")
    if folder is None:
        return recipe, None
    if not isinstance(recipe.generator, recipes.ModelRecipe):
        message = f"generator {recipe.generator.kind}: it asks no parser"
        raise GenieError(Problem("U003", message, hint="leave the parser out"))
    generator = replace(recipe.generator, parser=str(folder.path))
    return replace(recipe, generator=generator), folder.opener


def build_embedding(recipe: recipes.EmbeddingRecipe, language: Language) -> embedding.Embedding:
    """Return the embedding of a recipe, ready to be used."""
    words = embedding.HashedNgramEmbedding(recipe.dimensions)
    programs = embedding.ProgramBag(recipe.dimensions, language=language)
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
    """Builds the generator of a recipe.

    Attributes:
        recipe: the recipe; its label is the name of a column.
        language, library: of the programs.
        grammar: files of templates, which go before those of the recipe.
        schema: columns of the metadata, if there are any.
        work: folder of the run: a service's answers are kept there.
        open_parser: needed where sentences get their programs from a parser.
        threads: of torch, where a model is used.
    """

    recipe: recipes.EvolutionRecipe
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
        recipe = self.recipe.generator
        if recipe.kind in ("language-model", "trained") or self.recipe.parser:
            prepare_torch(getattr(recipe, "device", "cpu"), self.threads)
        match recipe:
            case recipes.GrammarRecipe():
                return self._grammar(recipe)
            case recipes.SeedsRecipe():
                donated = self._read_donated(recipe.examples)
                return seeds.SeedGenerator(donated, labels=self._labels, proposals=recipe.proposals)
            case recipes.LanguageModelRecipe():
                from genie_dp.private.evolution.language_model import load_language_model

                model = load_language_model(recipe)
                return self._prompted(model, self._prompter(recipe, model.style), recipe)
            case recipes.TrainedRecipe():
                from genie_dp.private.evolution.own_model import load_own_model

                return self._prompted(*load_own_model(recipe), recipe)
            case recipes.EndpointRecipe():
                from genie_dp.private.evolution.endpoint import open_endpoint

                endpoint = open_endpoint(recipe, self.work)
                return self._prompted(endpoint, self._prompter(recipe, "chat"), recipe)

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

    def _prompter(self, recipe: recipes.PromptRecipe, style: Style) -> prompting.Prompter:
        """Return the prompter of donated examples and of the metadata's columns."""
        templates = prompting.shipped_templates(style)
        if recipe.prompts:
            templates = prompting.load_templates(Path(recipe.prompts), style)
        pool = Pool(self._read_donated(recipe.examples), self._labels)
        columns = self.schema.columns if self.schema else ()
        values = {column.name: column.values for column in columns}
        return prompting.Prompter(templates, style, pool, values or None, recipe)

    @property
    def _labels(self) -> tuple[str, ...]:
        return (self.recipe.label,) if self.recipe.label else ()

    def _read_donated(self, files: Sequence[str]) -> list[Donated]:
        """Return public examples, their sentences as synthesis and private rows write them.

        Columns of the metadata that can be read from an example are added to what it says of
        itself.
        """
        examples = [
            Donated(join_tokens(example.utterance), example.metadata, example.program)
            for name in files
            for example in read_donated(Path(name))
        ]
        if self.schema is None:
            return examples
        return [complete_metadata(example, self.schema, self.language.name) for example in examples]

    def _prompted(
        self, completer: Completer, prompter: Asking, recipe: recipes.ModelRecipe
    ) -> CandidateGenerator:
        """Return the generator of a model, with programs if the recipe names a parser."""
        programs = None
        if recipe.parser is not None:
            if self.open_parser is None:
                message = f"nothing opens the parser {recipe.parser}"
                raise GenieError(Problem("U003", message, hint="give the parser itself"))
            folder = Path(recipe.parser)
            parser = self.open_parser(folder)
            programs = prompting.ProgramWriter(parser, folder.name, self.language, self.library)
        return prompting.PromptedGenerator(completer, prompter, recipe, programs)
