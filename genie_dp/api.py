"""The public functions: plain values in, one stage's `run` called, small results out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary, finalize

from genie_dp.languages.library import Library
from genie_dp.locale import DEFAULT, locale_from
from genie_dp.located import Located
from genie_dp.private_prior import PriorFile, load_prior
from genie_dp.recipe import (
    check_names,
    config_of,
    read_settings,
    takes_settings,
)
from genie_dp.records import Example, Spent
from genie_dp.resources import SHIPPED
from genie_dp.rows import Rows, format_of, rows_of
from genie_dp.run.stage import Output, Result
from genie_dp.templates import inputs as files
from genie_dp.templates.cache import inputs_of
from genie_dp.templates.inputs import Inputs
from genie_dp.texts import Paths

if TYPE_CHECKING:
    from genie_dp.dataset.split import SplitRows
    from genie_dp.evaluate.coverage import CoverageReport
    from genie_dp.evaluate.gaps import GapListener
    from genie_dp.evaluate.rows import Predictor
    from genie_dp.evaluate.run import Evaluation
    from genie_dp.paraphrase.auto import RoundTripParser as Checker
    from genie_dp.parser.parser import Parser
    from genie_dp.synthesis.describe import Describer, Description
    from genie_dp.synthesis.explain import Explainer, Explanation

Made = TypeVar("Made")
# Settings that `train` takes as arguments of its own.
_OF_TRAIN = ("inputs", "start", "prior", "validation")


def load_library(
    source: Paths = SHIPPED, *, language: str | None = None, skip_broken: bool = False
) -> Library:
    """Return a skill library: the functions of an assistant, with types.

    Args:
        source: folders of skills, a file of declarations (`*.sexpr`), files of tools (`*.json`), or
            "shipped" for the skills that come with genie_dp. Several may be given. Or one source of
            tools to import (docs/import.md): an OpenAPI document, or an MCP server.
        language: of the programs; None for that of the source: S-expressions for a file of
            declarations, calls for tools, else ThingTalk.
        skip_broken: leave skills with mistakes out; `library.skipped` names them.

    Raises:
        GenieError: mistakes in any of the files, with their places.
    """
    from genie_dp.importers.registry import is_foreign, library_of
    from genie_dp.importers.source import ImportSource

    if isinstance(source, str | Path) and is_foreign(source):
        return library_of(ImportSource(str(source), skip_broken=skip_broken))
    return files.library_from(source, language=language, skip_broken=skip_broken)


def load_grammar(source: Paths = SHIPPED, library: Library | Paths = SHIPPED) -> Inputs:
    """Return templates, put together with the library that they speak of.

    Args:
        source: template files, folders with a main.genie, or "shipped" for the English grammar that
            comes with genie_dp, which serves any skills.
        library: a library of `load_library`, or its source.

    Raises:
        GenieError: mistakes in any of the files, with their places.
    """
    file_library = files.library_from(library)
    return inputs_of(file_library, files.shipped_or(source, "grammars", "en"))


@takes_settings("genie_dp.synthesis.config.SynthesisConfig")
def synthesize(
    library: Library | Paths = SHIPPED,
    grammar: Inputs | Paths = SHIPPED,
    *,
    prior: PriorFile | str | Path | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Rows:
    """Return pairs of a sentence and its program, made of the templates as they are asked for.

    The same inputs and seed give the same rows. Every program is well-typed and canonical, no
    sentence has two programs, no row comes twice.

    Args:
        library: a library of `load_library`, or its source.
        grammar: a grammar of `load_grammar`, or its source.
        prior: a private prior, or its file, by which functions are weighed.
        progress: whether `save` shows progress; None for on a terminal.
        settings: those of `SynthesisConfig`, such as size=50_000, seed=1, max_depth=3.

    Raises:
        GenieError: a mistake in a file, a setting out of its range (R040) or unknown (R043).
    """
    from genie_dp.synthesis.config import SynthesisConfig, Synthesize
    from genie_dp.synthesis.run import iterate

    config = config_of(SynthesisConfig, settings)
    inputs = _grammar(grammar, library)
    stage = Synthesize(config=config, inputs=inputs, prior=_prior(prior))
    size_text = f"at most {config.size:,}" if config.size else "as many as target_size gives"

    def save(output: Output, jobs: int) -> Result:
        return replace(stage, jobs=jobs).run(output, progress=progress)

    about = f"synthesized in {inputs.language.name}, {size_text}"
    return Rows(partial(iterate, stage), about, save=save)


@takes_settings("genie_dp.dataset.split.Split")
def split(*rows: Rows | str | Path | Iterable[Example], **settings: Any) -> "SplitRows":
    """Return rows in parts that share no sentence, no family, or whatever else `by` names.

    The same rows and seed give the same parts, whatever the order of rows and files. A part is
    Rows: `.train`, `.validation` and `.test`, unless `parts` names others. Nothing is written but
    by `save`, which writes the folder of `genie-dp data split`.

    Args:
        rows: rows, or names of their files.
        settings: those of `Split`, such as seed=1, by="functions", parts=("train",
            "test=0.1"), eval_sources=("paraphrase",).

    Raises:
        GenieError: a line is no row, or there is none (D008); parts that cannot be made (D001,
            D013); rows that are indistinguishable (D002, D003); a setting out of its range (R040)
            or unknown (R043).
    """
    from genie_dp.dataset.split import Split, SplitRows, assign

    return SplitRows(assign(config_of(Split, settings), [rows_of(part) for part in rows]))


@takes_settings("genie_dp.paraphrase.config.ParaphraseConfig", without=("number",))
def paraphrase(
    rows: Rows | str | Path | Iterable[Example],
    *,
    number: int = 1,
    library: Library | Paths = SHIPPED,
    language: str | None = None,
    predictor: "Checker | None" = None,
    progress: bool | None = None,
    **settings: Any,
) -> Rows:
    """Return paraphrases of rows: by the shipped rules of English, by default.

    They are made when the first is asked for, into a temporary file, or by `save`.

    Args:
        rows: Rows, a file or URL, or Examples.
        number: paraphrases of each row, at most.
        library: of the programs: a library of `load_library`, or its source; only models and
            services, which see values, need it.
        language: of the programs; None for the library's.
        predictor: a parser that must read a paraphrase as the program of its sentence.
        progress: whether to show progress; None for on a terminal.
        settings: those of `ParaphraseConfig`, such as seed=1, by="lexical".

    Raises:
        GenieError: a mistake in a file, a setting out of its range or of another maker (R040), or
            unknown (R043).
    """
    from genie_dp.paraphrase.config import ParaphraseConfig
    from genie_dp.paraphrase.run import Paraphrase

    config = config_of(ParaphraseConfig, {"number": number, **settings})
    stage = Paraphrase(
        inputs=(), config=config, language=language or files.language_of(library),
        load_library=partial(files.library_from, library, language=language),
        load_predictor=None if predictor is None else lambda: predictor,
    )  # fmt: skip
    about = f"paraphrases, at most {number} a row"
    return _rows_made_of([rows_of(rows)], stage, about, progress)


@takes_settings("genie_dp.augment.config.AugmentConfig")
def augment(
    *rows: Rows | str | Path | Iterable[Example],
    library: Library | Paths = SHIPPED,
    language: str | None = None,
    prior: PriorFile | str | Path | None = None,
    values: str | Path | None = None,
    widen: bool = True,
    lexicon: str = "shipped",
    on_error: str = "stop",
    progress: bool | None = None,
    **settings: Any,
) -> Rows:
    """Return many rows for each row: values for placeholders, other words, noise.

    They are made when the first is asked for, into a temporary file, or by `save`. The same input
    and seed give the same rows.

    Args:
        rows: each as Rows, a file or URL, a folder of skills with sentences, or Examples; all ids
            are different.
        library: of the programs: a library of `load_library`, or its source.
        language: of the programs; None for the library's.
        prior: a private prior, or its file, by which rows are weighed.
        values: a file that names lists of your own.
        widen: join the lists of skills with the shipped ones of their kind.
        lexicon: words of the same meaning: "shipped", "wordnet", "none", or a file.
        on_error: "stop" or "skip", where the two sides of a row do not go together.
        progress: whether to show progress; None for on a terminal.
        settings: those of `AugmentConfig`, such as seed=1, quoted=0.2.

    Raises:
        GenieError: a mistake in a file, a setting out of its range (R040) or unknown (R043).
    """
    from genie_dp.augment.config import Augment, AugmentConfig

    skills = files.library_from(library, language=language)
    stage = Augment(
        library=skills, language=language or skills.language,
        config=config_of(AugmentConfig, settings), prior=_prior(prior),
        values=None if values is None else Path(values), widen=widen, lexicon=lexicon,
        on_error=on_error,
    )  # fmt: skip
    return _rows_made_of([rows_of(part) for part in rows], stage, "augmented", progress)


@takes_settings("genie_dp.parser.config.ParserConfig", without=_OF_TRAIN)
def train(
    *rows: Rows | str | Path | Iterable[Example],
    library: Library | Paths = SHIPPED,
    grammar: Inputs | Paths | None = None,
    validation: Rows | str | Path | Iterable[Example] | None = None,
    start: "Parser | str | Path | None" = None,
    prior: str | Path | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    recipe: str | Path | None = None,
    language: str | None = None,
    spent: Spent | None = None,
    licence: str = "",
    device: str = "cpu",
    threads: int = 1,
    jobs: int = 1,
    progress: bool | None = None,
    **settings: Any,
) -> "Parser":
    """Return a parser that has learned rows.

    Args:
        rows: the training rows, each as rows, a file of them, or Examples; none for the inputs
            of the recipe.
        library: the skills of the programs: a library of `load_library`, or its source.
        grammar: the templates that the rows were made of: a grammar of `load_grammar`, or its
            source. The parser keeps them, and checks by them where texts end; None for no check.
        validation: rows of real sentences, or a folder of skills whose eval.tsv are meant, by which
            the best weights are chosen; None for a share of the rows, held out.
        start: a parser, or its folder, to go on from: the new one begins with its network and its
            words, and learns new ones. It forgets earlier knowledge that the rows lack.
        prior: file of a private prior, by which rows are weighed.
        output: the parser's folder; None for a temporary one, which lives as long as the parser:
            `save` copies it.
        resume: go on with a run that was interrupted; its rows must be in a file of their own, for
            a temporary one is another each time.
        overwrite: replace the parser that is there.
        recipe: settings in YAML; those that are given here go before them.
        language: of the programs; None for that of the first row.
        spent: the guarantee of rows of source private, and of those of the start.
        licence: of the parser, for its card.
        device: where it is trained and used, such as cuda.
        threads: of torch, while it is trained.
        jobs: processes that prepare rows; the parser does not depend on it.
        progress: whether to show progress on stderr; None for on a terminal.
        settings: those of `ParserConfig`, such as steps=3_000, epochs=2, minutes=5, seed=1.

    Raises:
        GenieError: a setting out of its range (N002) or unknown (R043), rows that cannot be learned
            from, an output that is there (Y022).
    """
    from genie_dp.parser.config import ParserConfig
    from genie_dp.parser.parser import Parser
    from genie_dp.parser.recipe import Train

    check_names(ParserConfig, settings, without=_OF_TRAIN)
    settings_model = read_settings(ParserConfig, Located.of(settings), code="N002")
    learned = [rows_of(part) for part in rows]
    checked = None if validation is None else _rows_or_skills(validation)
    if checked is not None:
        settings_model["validation"] = checked if isinstance(checked, str) else checked.file()
    if start is not None:
        settings_model["start"] = str(start.folder if isinstance(start, Parser) else start)
    if prior is not None:
        settings_model["prior"] = str(prior)
    stage = Train(
        inputs=tuple(part.file() for part in learned), recipe=Path(recipe) if recipe else None,
        given=settings_model, load_library=lambda name: files.library_from(library, language=name),
        load_templates=None if grammar is None else partial(_grammar, grammar),
        language=language, spent=spent, licence=licence, device=device, threads=threads, jobs=jobs,
    )  # fmt: skip
    with ExitStack() as stack:
        if output is None:
            output = f"{stack.enter_context(TemporaryDirectory(prefix='genie_dp-'))}/parser"
        stage.run(Output(str(output), resume=resume, overwrite=overwrite), progress=progress)
        parser = Parser.from_pretrained(output, device=device)
        finalize(parser, stack.pop_all().close)
    return parser


@takes_settings("genie_dp.evaluate.config.EvaluationConfig")
def evaluate(
    parser: "Parser | Predictor | str | Path",
    rows: Rows | str | Path | Iterable[Example] = SHIPPED,
    *,
    library: Library | None = None,
    training: Sequence[Rows | str | Path] = (),
    progress: bool | None = None,
    **settings: Any,
) -> "Evaluation":
    """Return how good a parser is: its programs against the right ones.

    Args:
        parser: a Parser, its folder, or anything with `predict(utterances)` that
            gives an n-best list for each sentence.
        rows: with the right programs: rows, a file of them, Examples, or a folder of skills, whose
            eval.tsv are meant ("shipped" for those of the skills that come with genie_dp).
        library: that programs must fit: a library of `load_library`, or its source; None for that
            of a folder of skills, else the parser's own.
        training: the training rows of the parser, which show which test rows are new to it.
        progress: whether to show progress; None for on a terminal.
        settings: those of `EvaluationConfig`, such as seed=1.

    Raises:
        GenieError: mistakes in any of the files; a setting out of its range (R040) or unknown
            (R043).
    """
    from genie_dp.evaluate.config import EvaluationConfig
    from genie_dp.evaluate.rows import skills_of
    from genie_dp.evaluate.run import run
    from genie_dp.parser.parser import Parser

    config = config_of(EvaluationConfig, settings)
    system = Parser.from_pretrained(parser) if isinstance(parser, str | Path) else parser
    source = _rows_or_skills(rows)
    gold = source if isinstance(source, str) else source.file()
    target = system.target if isinstance(system, Parser) else None
    # Those rows do not say their language.
    is_silent = format_of(gold) == "tsv" and not Path(gold).is_dir()

    def library_of(language: str) -> Library:
        if library is not None:
            return files.library_from(library, language=language)
        skills = skills_of(gold)
        is_its_own = target is not None and target.language.name == language and not skills
        own = target.library if target is not None and is_its_own else None
        return own if own is not None else files.load_library(language, skills)

    training_rows = [rows_of(each) for each in training]
    return run(
        config,
        gold,
        system,
        library_of=library_of,
        language=target.language.name if target and is_silent else None,
        name=str(system.folder or "") if isinstance(system, Parser) else type(system).__name__,
        writes=target.language.name if target else "",
        training=[each.file() for each in training_rows],
        progress=progress,
    )


def describe(program: str, grammar: Inputs | Paths = SHIPPED) -> "Description":
    """Return the English description of a program, by the templates.

    Args:
        program: as people write it, or as tokens.
        grammar: a grammar of `load_grammar`, or its source; load it once to describe many.

    Raises:
        GenieError: the program cannot be read, or is ill-typed.
    """
    inputs = _grammar(grammar, SHIPPED)
    return _get_or_make(_DESCRIBERS, inputs, _new_describer).describe(program)


def explain(
    sentence: str,
    grammar: Inputs | Paths = SHIPPED,
    *,
    locale: str = DEFAULT,
    names: Mapping[str, Sequence[str]] | None = None,
) -> "Explanation":
    """Return how the templates derive a sentence, with every program it has, or the missing parts.

    Args:
        sentence: as people type it; placeholders may stand for values.
        grammar: a grammar of `load_grammar`, or its source; load it once to explain many.
        locale: language of the sentence, or a file of its words.
        names: kind of entity -> names that belong to who speaks, such as {"room": ["carport"]};
            with other names than before the grammar is indexed anew.

    Raises:
        GenieError: its placeholders are not numbered from left to right (Y060); names of an unknown
            kind (I012).
    """
    inputs = _grammar(grammar, SHIPPED)
    if names:
        return _new_explainer(inputs, locale, names).explain_in_full(sentence)
    explainers = _EXPLAINERS.setdefault(inputs, {})
    if locale not in explainers:
        explainers[locale] = _new_explainer(inputs, locale)
    explained: Explanation = explainers[locale].explain_in_full(sentence)
    return explained


@takes_settings("genie_dp.evaluate.config.CoverageConfig")
def coverage(
    sentences: Rows | str | Path | Iterable[Example | str | tuple[str, str]] = SHIPPED,
    *,
    library: Library | Paths | None = None,
    grammar: Inputs | Paths = SHIPPED,
    names: Mapping[str, Sequence[str]] | None = None,
    jobs: int = 1,
    progress: bool | None = None,
    **settings: Any,
) -> "CoverageReport":
    """Return which sentences the templates derive, with which program, and why not the others.

    Args:
        sentences: texts, pairs of a text and its program, Examples or Rows; or the name of the file
            that `genie-dp grammar coverage` reads: an eval.tsv, a folder of skills, sentences
            (.txt), rows.
        library: a library of `load_library`, or its source; None for that of a folder of skills
            that is given as the sentences, else the shipped one.
        grammar: a grammar of `load_grammar`, or its source.
        names: kind of entity -> names that belong to who speaks.
        jobs: processes; the result does not depend on it.
        progress: whether to show progress; None for on a terminal.
        settings: those of `CoverageConfig`, such as max_depth=6, now="2026-11-25".

    Raises:
        GenieError: mistakes in any of the files, or in a program; a setting out of its range (R040)
            or unknown (R043).
    """
    from genie_dp.evaluate import coverage as stage
    from genie_dp.evaluate.config import CoverageConfig
    from genie_dp.evaluate.rows import skills_of

    config = config_of(CoverageConfig, settings)
    name = ""
    if isinstance(sentences, str | Path):
        name = str(files.shipped_or(sentences, "thingpedia")[0])
    own_skills = skills_of(name) if name else ()
    inputs = _grammar(grammar, library if library is not None else own_skills or SHIPPED)
    if isinstance(sentences, str | Path):
        rows = stage.coverage_rows(name, inputs)
    else:
        rows = [
            stage.as_row(text, number, inputs) for number, text in enumerate(sentences, start=1)
        ]
    sources = (name,) if name else ()
    return stage.run(
        config, inputs, rows, sources=sources, names=names, jobs=jobs, progress=progress
    )


def gap_listener(
    grammar: Inputs | Paths = SHIPPED,
    *,
    library: Library | Paths = SHIPPED,
    parser: "Parser | None" = None,
    names: Mapping[str, Sequence[str]] | str | Path | None = None,
    **settings: Any,
) -> "GapListener":
    """Return the recognizer of understood sentences, with which `Ledger.gaps` listens.

    Indexing a grammar, and drawing sentences of it, takes some seconds.

    Args:
        grammar: a grammar of `load_grammar`, or its source.
        library: a library of `load_library`, or its source.
        parser: a `Parser` of public rows, read from its folder: a gap is a sentence that it
            refuses. None for sentences that no template derives.
        names: kind of entity -> names that no list has, or a file of them in YAML. Public.
        settings: those of `CoverageConfig`, such as locale="de".

    Raises:
        GenieError: the language has no values to take out (V023), the parser is of another one
            (F024), or a file is private (F021); mistakes in any of the files.
    """
    from genie_dp.evaluate.config import CoverageConfig
    from genie_dp.evaluate.gaps import open_listener

    config = config_of(CoverageConfig, settings)
    named = Path(names) if isinstance(names, str | Path) else names
    return open_listener(_grammar(grammar, library), config, parser=parser, names=named)


# -------------------------------------------------------------------------------------- arguments


def _grammar(grammar: Inputs | Paths, library: Library | Paths) -> Inputs:
    return grammar if isinstance(grammar, Inputs) else load_grammar(grammar, library)


def _rows_made_of(inputs: Sequence[Rows], stage: Any, about: str, progress: bool | None) -> Rows:
    """Return the output rows of a stage, which runs when they are saved or read."""
    from genie_dp.private.ledger.guard import private_inputs

    def save(output: Output, jobs: int) -> Result:
        names = tuple(rows.file() for rows in inputs)
        private = private_inputs(names)
        ready = replace(stage, inputs=names, private=private.fields(), jobs=jobs)
        result = ready.run(output, progress=progress)
        annotated: Result = replace(result, notes=(*result.notes, *private.lines()))
        return annotated

    return Rows(None, about, sources=[name for rows in inputs for name in rows.sources], save=save)


def _rows_or_skills(given: Rows | str | Path | Iterable[Example]) -> Rows | str:
    """Return rows, or the name of a file of them or of a folder of skills."""
    if isinstance(given, str | Path):
        return str(files.shipped_or(given, "thingpedia")[0])
    return rows_of(given)


def _prior(prior: PriorFile | str | Path | None) -> PriorFile | None:
    return load_prior(Path(prior)) if isinstance(prior, str | Path) else prior


# Indexing a grammar takes half a second: once for each that is loaded.
_DESCRIBERS: WeakKeyDictionary[Inputs, Any] = WeakKeyDictionary()
_EXPLAINERS: WeakKeyDictionary[Inputs, dict[str, Any]] = WeakKeyDictionary()


def _get_or_make(
    known: WeakKeyDictionary[Inputs, Any], inputs: Inputs, make: Callable[[Inputs], Made]
) -> Made:
    if inputs not in known:
        known[inputs] = make(inputs)
    value: Made = known[inputs]
    return value


def _new_describer(inputs: Inputs) -> "Describer":
    from genie_dp.synthesis.describe import Describer

    return Describer.from_inputs(inputs)


def _new_explainer(
    inputs: Inputs, locale: str, names: Mapping[str, Sequence[str]] | None = None
) -> "Explainer":
    from genie_dp.parser.reading.said import said_values
    from genie_dp.synthesis.explain import Explainer

    values = said_values(
        inputs.language, inputs.library, now=datetime.now(), locale=locale_from(locale),
        names=names,
    )  # fmt: skip
    return Explainer.from_inputs(inputs, values=values)
