"""The public functions: plain values in, one stage's `run` called, small results out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from genie_dp.errors import GenieError, Problem, did_you_mean, render_problem
from genie_dp.private_prior import PriorFile, load_prior
from genie_dp.recipe import Setting, config_of
from genie_dp.records import Example
from genie_dp.rows import Rows, rows_of
from genie_dp.run.stage import Output, Result
from genie_dp.templates import inputs as files
from genie_dp.templates.inputs import SHIPPED, Inputs
from genie_dp.texts import Paths

if TYPE_CHECKING:
    from genie_dp.dataset.split import SplitRows
    from genie_dp.paraphrase.auto import Predictor
    from genie_dp.synthesis.describe import Describer, Description
    from genie_dp.synthesis.explain import Explainer, Explanation

Made = TypeVar("Made")


def load_library(
    source: Paths = SHIPPED, *, language: str | None = None, skip_broken: bool = False
) -> Any:
    """Return a skill library: what an assistant can do, with types.

    Args:
        source: folders of skills, a file of declarations (`*.sexpr`), or "shipped" for the skills
            that come with genie_dp. Several may be given.
        language: of the programs; None for what the source is: S-expressions for a file of
            declarations, else ThingTalk.
        skip_broken: leave skills with mistakes out; `library.skipped` names them.

    Raises:
        GenieError: mistakes in any of the files, with their places.
    """
    return files.library_from(source, language=language, skip_broken=skip_broken)


def load_grammar(source: Paths = SHIPPED, library: Any = SHIPPED) -> Inputs:
    """Return templates, put together with the library that they speak of.

    Args:
        source: template files, folders with a main.genie, or "shipped" for the English grammar that
            comes with genie_dp, which serves any skills.
        library: what `load_library` returns, or its source.

    Raises:
        GenieError: mistakes in any of the files, with their places.
    """
    found = files.library_from(library)
    return files.inputs_of(found, files.shipped_or(source, "grammars", "en"))


def synthesize(
    library: Any = SHIPPED,
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
        library: what `load_library` returns, or its source.
        grammar: what `load_grammar` returns, or its source.
        prior: a private prior, or its file, by which functions are weighed.
        progress: whether `save` shows progress; None for on a terminal.
        settings: those of `SynthesisConfig`, such as size=50_000, seed=1, max_depth=3.

    Raises:
        GenieError: a mistake in a file, a setting out of its range (R040) or unknown (R043).
    """
    from genie_dp.synthesis import run as stage
    from genie_dp.synthesis.config import SynthesisConfig

    config = config_of(SynthesisConfig, settings)
    inputs = _grammar(grammar, library)
    weighs = _prior(prior)

    def make() -> Iterator[Example]:
        return stage.iterate(config, inputs, prior=weighs)

    def save(output: Output, jobs: int) -> Result:
        return stage.run(config, inputs, output, prior=weighs, jobs=jobs, progress=progress)

    most = f"at most {config.size:,}" if config.size else "as many as target_size gives"
    return Rows(make, f"synthesized in {inputs.language.name}, {most}", save=save)


def split(*rows: Rows | str | Path | Iterable[Example], **settings: Any) -> "SplitRows":
    """Return rows in parts that share no sentence, no family, or whatever else `by` names.

    The same rows and seed give the same parts, whatever the order of rows and files. A part is
    Rows: `.train`, `.validation` and `.test`, unless `parts` names others. Nothing is written but
    by `save`, which writes the folder of `genie-dp split`.

    Args:
        rows: rows, or names of their files.
        settings: those of `SplitConfig`, such as seed=1, by="functions", parts=("train",
            "test=0.1"), eval_sources=("paraphrase",).

    Raises:
        GenieError: a line is no row, or there is none (D008); parts that cannot be made (D001,
            D013); rows that cannot be told apart (D002, D003); a setting out of its range (R040)
            or unknown (R043).
    """
    from genie_dp.dataset.config import SplitConfig
    from genie_dp.dataset.split import SplitRows, assign

    config = config_of(SplitConfig, settings)
    return SplitRows(assign(config, [rows_of(one) for one in rows]))


def paraphrase(
    rows: Rows | str | Path | Iterable[Example],
    *,
    number: int = 1,
    library: Any = SHIPPED,
    language: str | None = None,
    predictor: "Predictor | None" = None,
    progress: bool | None = None,
    **settings: Any,
) -> Rows:
    """Return paraphrases of rows: by the shipped rules of English, unless settings say otherwise.

    They are made when the first is asked for, into a temporary file, or by `save`.

    Args:
        rows: Rows, a file or URL, or Examples.
        number: paraphrases of each row, at most.
        library: of the programs: what `load_library` returns, or its source; only models and
            services, which see values, need it.
        language: of the programs; None for the library's.
        predictor: a parser that must read a paraphrase as the program of its sentence.
        progress: whether to show progress; None for on a terminal.
        settings: those of `ParaphraseConfig`, such as seed=1, by="lexical".

    Raises:
        GenieError: a mistake in a file, a setting out of its range or of another maker (R040), or
            unknown (R043).
    """
    from genie_dp.languages import get_language
    from genie_dp.paraphrase import run as stage
    from genie_dp.paraphrase.config import ParaphraseConfig
    from genie_dp.paraphrase.shown import canonical_tokens
    from genie_dp.private.ledger.guard import private_inputs

    config = config_of(ParaphraseConfig, {"number": number, **settings})
    if unfit := config.unfit():
        raise GenieError(Problem("R040", unfit))
    name = getattr(library, "language", "thingtalk") if language is None else language
    given = rows_of(rows)

    @cache
    def loaded() -> Callable[[str], str]:
        return canonical_tokens(get_language(name), files.library_from(library, language=language))

    def save(output: Output, jobs: int) -> Result:
        inputs = [given.file()]
        private = private_inputs(inputs)
        result = stage.run(
            config, inputs, output,
            language=name, canonical=lambda program: loaded()(program), predictor=predictor,
            private=private.fields(), resume=output.resume, jobs=jobs, progress=progress,
        )  # fmt: skip
        return replace(result, notes=tuple(private.lines()))

    return Rows(None, f"paraphrases, at most {config.number} a row", save=save)


def augment(
    *rows: Rows | str | Path | Iterable[Example],
    library: Any = SHIPPED,
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
        rows: each as Rows, a file or URL, or Examples; all ids are different.
        library: of the programs: what `load_library` returns, or its source.
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
    from genie_dp.augment import run as stage
    from genie_dp.augment.config import AugmentConfig
    from genie_dp.augment.datasets import read_own_lists
    from genie_dp.private.ledger.guard import private_inputs
    from genie_dp.skills.model import Library

    config = config_of(AugmentConfig, settings)
    _check_choice("on_error", on_error, ("stop", "skip"))
    skills = files.library_from(library, language=language)
    weighs = _prior(prior)
    own = None
    if values is not None:
        own = read_own_lists(values, skills if isinstance(skills, Library) else Library())
    given = [rows_of(one) for one in rows]
    name = getattr(skills, "language", "thingtalk") if language is None else language

    def save(output: Output, jobs: int) -> Result:
        inputs = [one.file() for one in given]
        private = private_inputs(inputs)
        result = stage.run(
            config, inputs, skills, output,
            language=name, prior=weighs, values=own,
            widen=widen, lexicon=lexicon, on_error=on_error, private=private.fields(), jobs=jobs,
            progress=progress,
        )  # fmt: skip
        odd = [render_problem(problem, own.sources) for problem in own.warnings] if own else []
        return replace(result, notes=(*odd, *private.lines()))

    return Rows(None, "augmented", save=save)


def describe(program: str, grammar: Inputs | Paths = SHIPPED) -> "Description":
    """Return what a program says in English, by the templates.

    Args:
        program: as people write it, or as tokens.
        grammar: what `load_grammar` returns, or its source; load it once to describe many.

    Raises:
        GenieError: the program cannot be read, or is ill-typed.
    """
    inputs = _grammar(grammar, SHIPPED)
    return _remembered(_DESCRIBERS, inputs, _new_describer).describe(program)


def explain(sentence: str, grammar: Inputs | Paths = SHIPPED) -> "Explanation":
    """Return how the templates derive a sentence, with every program it has.

    Args:
        sentence: with placeholders for values, or with values in double quotes.
        grammar: what `load_grammar` returns, or its source; load it once to explain many.

    Raises:
        GenieError: its placeholders are not numbered from left to right (Y060).
    """
    inputs = _grammar(grammar, SHIPPED)
    return _remembered(_EXPLAINERS, inputs, _new_explainer).explain(sentence)


# -------------------------------------------------------------------------------------- arguments


def _grammar(grammar: Inputs | Paths, library: Any) -> Inputs:
    return grammar if isinstance(grammar, Inputs) else load_grammar(grammar, library)


def _prior(prior: PriorFile | str | Path | None) -> PriorFile | None:
    return load_prior(Path(prior)) if isinstance(prior, str | Path) else prior


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a text that is none of those that an argument may be.

    Raises:
        GenieError: R040.
    """
    expected = Setting("", choices=tuple(choices)).expected(value)
    if expected:
        message = f"{name}: expected {expected}, got {value!r}"
        raise GenieError(Problem("R040", message, hint=did_you_mean(value, choices)))


# Indexing a grammar takes half a second: once for each that is loaded.
_DESCRIBERS: WeakKeyDictionary[Inputs, Any] = WeakKeyDictionary()
_EXPLAINERS: WeakKeyDictionary[Inputs, Any] = WeakKeyDictionary()


def _remembered(
    known: WeakKeyDictionary[Inputs, Any], inputs: Inputs, make: Callable[[Inputs], Made]
) -> Made:
    if inputs not in known:
        known[inputs] = make(inputs)
    found: Made = known[inputs]
    return found


def _new_describer(inputs: Inputs) -> "Describer":
    from genie_dp.synthesis.describe import Describer

    return Describer(_compiled(inputs), inputs.library)


def _new_explainer(inputs: Inputs) -> "Explainer":
    from genie_dp.synthesis.explain import Explainer

    return Explainer(_compiled(inputs))


def _compiled(inputs: Inputs) -> Any:
    from genie_dp.synthesis.compiler import compile_inputs

    return compile_inputs(inputs)
