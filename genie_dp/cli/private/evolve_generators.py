"""Generators and embeddings of `genie-dp private evolve`: from a recipe to what does the work."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genie_dp.cli.inputs import load_inputs
from genie_dp.languages.base import Language
from genie_dp.private.evolution.donated import Donated, Pool, completed, read_donated
from genie_dp.private.evolution.embedding import Both, Embedding, HashedNgrams, ProgramBag
from genie_dp.private.evolution.generator import Generator
from genie_dp.private.evolution.recipe import (
    EmbeddingRecipe,
    EndpointRecipe,
    GrammarRecipe,
    LanguageModelRecipe,
    Recipe,
    SeedsRecipe,
    TrainedRecipe,
)
from genie_dp.private.evolution.transformer import SentenceTransformer
from genie_dp.private.tables.schema import Schema
from genie_dp.skills.words import spoken

if TYPE_CHECKING:
    from genie_dp.private.evolution.prompted import Completer, Programs
    from genie_dp.private.evolution.prompting import Prompter, Style


def embedding_of(recipe: EmbeddingRecipe, language: Language) -> Embedding:
    """Return the embedding of a recipe."""
    words = HashedNgrams(recipe.dimensions)
    programs = ProgramBag.of(language, recipe.dimensions)
    match recipe.kind:
        case "hashed":
            return words
        case "programs":
            return programs
        case "both":
            return Both(((words, 1.0), (programs, recipe.programs)))
        case "sentence-transformer":
            assert recipe.folder is not None  # the recipe was checked
            return SentenceTransformer(Path(recipe.folder), recipe.device)


def public_files(recipe: Recipe) -> list[str]:
    """Return the files that the recipe says are public."""
    generator, metadata = recipe.generator, recipe.metadata
    found = list(getattr(generator, "examples", ()))
    if prompts := getattr(generator, "prompts", None):
        found.append(prompts)
    if metadata is not None and metadata.schema:
        found.append(metadata.schema)
    return found


def generator_of(
    recipe: Recipe,
    *,
    language: Language,
    library: Any,
    schema: Schema | None,
    label: str,
    work: Path,
    options: Mapping[str, Any],
) -> Generator:
    """Return the generator of a recipe.

    Args:
        recipe: the recipe.
        language, library: of the programs.
        schema: columns of the metadata, if there are any.
        label: column of the labels, or "".
        work: folder of the run: a service's answers are kept there.
        options: those of the command.
    """
    match recipe.generator:
        case GrammarRecipe() as grammar:
            return _grammar(grammar, language.name, schema, options)
        case SeedsRecipe(examples=files, proposals=proposals):
            from genie_dp.private.evolution.seeds import SeedGenerator

            seeds = _donated(files, schema, language.name)
            return SeedGenerator(seeds, labels=_labels(label), proposals=proposals)
        case LanguageModelRecipe() as asked:
            return _prompted(asked, _model(asked), language, library, schema, label)
        case TrainedRecipe() as asked:
            return _trained(asked, language, library)
        case EndpointRecipe() as asked:
            return _prompted(asked, _endpoint(asked, work), language, library, schema, label)


def _grammar(
    recipe: GrammarRecipe, language: str, schema: Schema | None, options: Mapping[str, Any]
) -> Generator:
    """Return the generator of a grammar, whose engine is built as synthesis builds its own.

    Leaves are those that synthesis keeps, too. All templates are compiled, since derivations name
    those of leaves.
    """
    from genie_dp.private.evolution.grammar import GrammarGenerator
    from genie_dp.synthesis.compiler import compile_grammar
    from genie_dp.synthesis.config import SynthesisConfig
    from genie_dp.synthesis.engine import build_engine
    from genie_dp.synthesis.kept import kept_lexicon, new_lexicon
    from genie_dp.templates.grammar import subset

    paths = options["grammar"] or tuple(map(Path, recipe.grammar))
    inputs = load_inputs(language, options["skills"], paths, skip_broken=options["skip_broken"])
    config = SynthesisConfig(max_depth=recipe.max_depth, pool_size=recipe.pool_size)
    compiled = compile_grammar(
        subset(inputs.grammar, config.subsets), inputs.language, inputs.library, config, None
    )
    lexicon = kept_lexicon(inputs, config) or new_lexicon(inputs, compiled, config)
    engine = build_engine(compiled, config, lexicon, with_origins=True)
    return GrammarGenerator(engine, inputs=inputs.fingerprint(), schema=schema)


def _trained(recipe: TrainedRecipe, language: Language, library: Any) -> Generator:
    from genie_dp.private.evolution.own_model import load_own_model
    from genie_dp.private.evolution.prompted import PromptedGenerator
    from genie_dp.private.evolution.prompting import Reading

    model, prompter = load_own_model(Path(recipe.model), column=recipe.column, device=recipe.device)
    programs = _programs(recipe.parser, language, library)
    return PromptedGenerator(
        model, prompter, Reading(recipe.most_words, spoken), programs, recipe.tries
    )


def _labels(label: str) -> Sequence[str]:
    return (label,) if label else ()


def _donated(files: Sequence[str], schema: Schema | None, language: str) -> list[Donated]:
    """Return public examples, their sentences as synthesis and private rows write them.

    Columns of the metadata that can be read from an example are added to what it says of itself.
    """
    found = [
        Donated(spoken(one.utterance), one.metadata, one.program)
        for name in files
        for one in read_donated(Path(name))
    ]
    return [completed(one, schema, language) for one in found] if schema else found


def _model(recipe: LanguageModelRecipe) -> "Completer":
    from genie_dp.private.evolution.language_model import (
        LanguageModelSettings,
        load_language_model,
    )

    return load_language_model(
        LanguageModelSettings(
            recipe.model,
            style=recipe.style,
            device=recipe.device,
            batch=recipe.batch,
            temperature=recipe.temperature,
            top_p=recipe.top_p,
            longest=recipe.longest,
        )
    )


def _endpoint(recipe: EndpointRecipe, work: Path) -> "Completer":
    from genie_dp.paraphrase.auto_journal import open_journal
    from genie_dp.paraphrase.endpoint_client import Client
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


def _prompted(
    recipe: LanguageModelRecipe | EndpointRecipe,
    completer: "Completer",
    language: Language,
    library: Any,
    schema: Schema | None,
    label: str,
) -> Generator:
    from genie_dp.private.evolution.prompted import PromptedGenerator
    from genie_dp.private.evolution.prompting import Reading

    style: Style = getattr(completer, "style", "chat")
    return PromptedGenerator(
        completer,
        _prompter(recipe, style, schema, label, language.name),
        Reading(recipe.most_words, spoken),
        _programs(recipe.parser, language, library),
        recipe.tries,
    )


def _prompter(
    recipe: LanguageModelRecipe | EndpointRecipe,
    style: "Style",
    schema: Schema | None,
    label: str,
    language: str,
) -> "Prompter":
    from genie_dp.private.evolution.prompting import Prompter, load_templates, shipped_templates

    templates = (
        load_templates(Path(recipe.prompts), style) if recipe.prompts else shipped_templates(style)
    )
    return Prompter(
        templates,
        style,
        recipe.variation,
        Pool(_donated(recipe.examples, schema, language), _labels(label)),
        recipe.shots,
        {column.name: column.values for column in schema.columns} if schema else None,
        recipe.with_metadata,
    )


def _programs(parser: str | None, language: Language, library: Any) -> "Programs | None":
    if parser is None:
        return None
    from genie_dp.cli.parser_predictor import BestProgram
    from genie_dp.private.evolution.prompted import Programs

    return Programs(BestProgram.of(Path(parser)), Path(parser).name, language, library)


def figures_of(generator: Generator) -> dict[str, Any]:
    """Return what a generator says of its work, for the report."""
    found: dict[str, Any] = {}
    if (tally := getattr(generator, "tally", None)) is not None:
        found |= tally.as_dict()
    completer = getattr(generator, "completer", None)
    if completer is not None and hasattr(completer, "cost"):
        from genie_dp.private.evolution.endpoint import report_of

        found |= report_of(completer)
    return found
