"""A generator: the language models of its stages, and the folder in which it lies with its card.

The folder cannot be written without the guarantee spent on it.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.base import Language
from genie_dp.languages.types import is_slot
from genie_dp.models.arrays import BASE
from genie_dp.models.saved import base_of, load_weights, write_weights
from genie_dp.private.generators import models as networks
from genie_dp.private.generators.codes import Codes
from genie_dp.private.generators.sampling import is_plain
from genie_dp.private.generators.stages import KINDS, STAGES, Kind, LabelledRow, StageName
from genie_dp.private.generators.tokenizer import (
    PretrainedTokenizer,
    Tokenizer,
    build_tokenizer,
    load_public_tokenizer,
)
from genie_dp.private.ledger.budget import Budget
from genie_dp.records import Spent
from genie_dp.rng import child_seed
from genie_dp.run.page import render_card


@dataclass(frozen=True, slots=True)
class Public:
    """The content of public programs, for sampling under a grammar.

    Attributes:
        texts: the text for a decoding grammar: constants of ThingTalk, programs of S-expressions.
        placeholders: those that programs hold.
        unsaid: tokens of programs that no public utterance has, and no plain words or placeholders:
            sampled utterances do not have them either.
    """

    texts: tuple[str, ...] = ()
    placeholders: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Generator:
    """Language models of private rows.

    Attributes:
        kind: which stages there are.
        language: name of the programs' language.
        tokenizer: of all stages.
        models: a CausalLM by the name of its stage.
        settings: sizes of the own decoder or recurrent model, or which model of Hugging Face.
        public: the texts and tokens for sampling under a grammar.
        codes: the control codes, None without.
        weights: how many rows have each of `codes.all`, as released; empty before.
    """

    kind: Kind
    language: str
    tokenizer: Tokenizer
    models: Mapping[StageName, Any]
    settings: networks.Settings
    public: Public = field(default_factory=Public)
    codes: Codes | None = None
    weights: tuple[float, ...] = ()

    def with_weights(self, weights: Sequence[float]) -> "Generator":
        """Return the same with the released distribution of codes."""
        return replace(self, weights=tuple(weights))


def new_generator(
    kind: Kind,
    language: Language,
    rows: Sequence[LabelledRow],
    settings: networks.Settings,
    *,
    functions: Collection[str] = (),
    words: Collection[str] = (),
    codes: Codes | None = None,
    seed: int = 0,
) -> Generator:
    """Return a generator that has learned nothing yet.

    Args:
        kind: which stages it has.
        language: of the programs.
        rows: public rows; tokenizer and grammar come from them alone.
        settings: which model.
        functions: public tokens that are to have an id of their own, such as a library's functions.
        words: public words that are to have one, too, such as a mask.
        codes: the control codes; needed for "control".
        seed: of the weights.

    Raises:
        GenieError: H004 or H005, a model of Hugging Face or its tokenizer cannot be used.
    """
    if (kind == "control") != (codes is not None):
        raise ValueError(f"expected codes for control, and only for it: {kind}")
    tokenizer: Tokenizer
    if isinstance(settings, networks.HuggingFaceSettings):
        tokenizer = PretrainedTokenizer(settings.base, instructs=settings.instructs)
    elif kind == "two-stage":
        tokens = {*functions, *(token for row in rows for token in row.program)}
        own = {token for token in tokens if not is_plain(token)}
        texts = (text for row in rows for text in (row.utterance, row.program))
        tokenizer = build_tokenizer(texts, extra={*own, *words})
    else:  # no ids for programs, which the kind never writes or reads
        parts = {part for name in (codes.all if codes else ()) for part in name.split()}
        tokenizer = build_tokenizer((row.utterance for row in rows), extra={*parts, *words})
    models = {
        stage.name: build_model(settings, len(tokenizer.pieces), seed=seed, stage=stage.name)
        for stage in STAGES[kind]
    }
    public = public_of(rows, language, functions) if kind == "two-stage" else Public()
    return Generator(kind, language.name, tokenizer, models, settings, public, codes)


def build_model(settings: networks.Settings, tokens: int, *, seed: int, stage: str) -> Any:
    """Return a new model; equal seeds and stages give equal weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(child_seed(seed, "generator", stage) % 2**63)
        if isinstance(settings, networks.HuggingFaceSettings):
            return networks.HuggingFaceCausal(settings).eval()
        if isinstance(settings, networks.RecurrentLMSettings):
            return networks.RecurrentLM(tokens, settings).eval()
        return networks.PreLNDecoder(tokens, settings).eval()


def public_of(
    rows: Iterable[LabelledRow], language: Language, functions: Iterable[str] = ()
) -> Public:
    """Return the content of the programs of public rows; programs that do not parse are skipped."""
    texts: set[str] = set()
    placeholders: set[str] = set()
    words: set[str] = set()
    written = set(functions)
    for row in rows:
        words.update(row.utterance)
        program = " ".join(row.program)
        if not program:
            continue
        try:
            language.from_tokens(program)
        except GenieError:
            continue
        written.update(row.program)
        placeholders.update(filter(is_slot, row.program))
        said_by_program = language.grammar_texts(program)
        texts.update(
            said_by_program
            if language.learns_from_programs
            else filter(_is_constant, said_by_program)
        )
    unsaid = {token for token in written - words if not is_plain_or_slot(token)}
    return Public(*(tuple(sorted(x)) for x in (texts - placeholders, placeholders, unsaid)))


def _is_constant(text: str) -> bool:
    """Return whether a constant is neither plain words nor a placeholder."""
    is_quoted = text.startswith('"')
    words = text[1:-1].split() if is_quoted else []
    return not is_slot(text) and not (is_quoted and all(map(is_plain_or_slot, words)))


def is_plain_or_slot(word: str) -> bool:
    """Return whether a word of a text can be written without a constant."""
    return is_plain(word) or is_slot(word)


_ROWS = {
    "one-stage": "utterances: one language model p(x)",
    "control": "utterances: a language model p(x | code), its codes drawn from a noisy histogram",
    "two-stage": "programs and utterances: language models p(y) and p(x | y)",
}


@dataclass(frozen=True, slots=True)
class GeneratorCard:
    """The content of a generator's card.

    Attributes:
        spent: the guarantee; there is no card without one.
        facts: public numbers of the training.
        codes: how many control codes there are, 0 without.
    """

    folder: str
    kind: str
    language: str
    spent: Spent
    facts: Mapping[str, Any] = field(default_factory=dict)
    codes: int = 0
    version: str = __version__

    @property
    def rows(self) -> str:
        """Return a description of its rows and models."""
        return _ROWS[self.kind]

    @property
    def is_typed(self) -> bool:
        """Return whether programs are checked against a library of skills."""
        return self.kind == "two-stage" and get_language(self.language).has_skills


CONFIG, SPENT, CARD, TOKENIZER = "config.json", "spent.json", "README.md", "tokenizer.json"
MODEL_TYPE = "genie_dp.generator"
_ARCHITECTURES: Mapping[type, str] = {
    networks.DecoderSettings: "decoder",
    networks.RecurrentLMSettings: "recurrent",
    networks.HuggingFaceSettings: "hugging-face",
}


@dataclass(frozen=True, slots=True)
class SavedGenerator:
    """A generator of a folder, with the guarantee under which it was trained, and its facts."""

    generator: Generator
    spent: Spent
    facts: Mapping[str, Any]


def weights_name(stage: str) -> str:
    """Return the file of a stage's weights."""
    return f"model-{stage}.safetensors"


def save_generator(
    generator: Generator, folder: Path, *, spent: Spent, facts: Mapping[str, Any] | None = None
) -> None:
    """Write a generator: configuration, weights, tokenizer, guarantee and card.

    Args:
        generator: with its trained models.
        folder: made if needed; files of the same names are replaced.
        spent: its guarantee.
        facts: public facts of its training, for configuration and card.
    """
    folder.mkdir(parents=True, exist_ok=True)
    public_facts = dict(facts or {})
    for stage, model in generator.models.items():
        path = folder / weights_name(stage)
        write_weights(model, path)
        if hasattr(model, "save_base"):
            model.save_base(folder)
    generator.tokenizer.save(folder)
    settings = asdict(generator.settings)
    architecture = _ARCHITECTURES[type(generator.settings)]
    if architecture == "hugging-face":
        settings.pop("base")
        settings.pop("fresh")
    config = {
        "model_type": MODEL_TYPE,
        "kind": generator.kind,
        "language": generator.language,
        "architecture": architecture,
        "settings": settings,
        "public": asdict(generator.public),
        "codes": asdict(generator.codes) if generator.codes else None,
        "weights": list(generator.weights),
        "training": public_facts,
    }
    _write_json(folder / CONFIG, config)
    _write_json(folder / SPENT, asdict(spent))
    codes = len(generator.codes.all) if generator.codes else 0
    card = GeneratorCard(
        folder.name, generator.kind, generator.language, spent, public_facts, codes
    )
    (folder / CARD).write_text(
        render_card("genie_dp.private.generators", card=card), encoding="utf-8"
    )


def save_public(
    generator: Generator, budget: Budget, folder: Path, *, limits: Sequence[str] = ()
) -> None:
    """Write a generator as it is before private rows; it discloses nothing of them.

    Args:
        generator: not yet trained on private rows; its codes are taken to be equally frequent.
        budget: of the rows that it will learn.
        folder: made if needed; files of the same names are replaced.
        limits: of the promise about the rows that it has learned.
    """
    nothing = Spent(
        epsilon=0.0,
        delta=0.0,
        unit=budget.unit,
        relation=budget.relation,
        accountant=budget.accountant,
        not_covered=("no private row was read", *limits),
    )
    if generator.codes is not None:
        generator = generator.with_weights([1.0] * len(generator.codes.all))
    save_generator(generator, folder, spent=nothing, facts={"version": __version__})


def _write_json(path: Path, content: Any) -> None:
    text = json.dumps(content, ensure_ascii=False, indent=2)
    path.write_text(text + "\n", encoding="utf-8")


def load_generator(folder: Path, *, device: str = "cpu") -> SavedGenerator:
    """Return the generator of a folder, in evaluation mode.

    Raises:
        GenieError: H003, the folder is none that `save_generator` wrote.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if config["model_type"] != MODEL_TYPE or config["kind"] not in KINDS:
            raise ValueError("no generator")
        spent = read_spent(folder / SPENT)
        generator = _put_together(config, folder)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        message = f"expected a generator in {folder}, got: {error}"
        hint = "name a folder that genie-dp private train wrote"
        raise GenieError(Problem("H003", message, hint=hint)) from None
    for model in generator.models.values():
        model.to(device).eval()
    return SavedGenerator(generator, spent, config["training"])


def read_spent(path: Path) -> Spent:
    """Return the guarantee of a file."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    return Spent(**{**facts, "not_covered": tuple(facts["not_covered"])})


def _put_together(config: Mapping[str, Any], folder: Path) -> Generator:
    settings: networks.Settings
    if config["architecture"] == "decoder":
        settings = networks.DecoderSettings(**config["settings"])
    elif config["architecture"] == "recurrent":
        settings = networks.RecurrentLMSettings(**config["settings"])
    else:
        base = base_of(folder / weights_name(STAGES[config["kind"]][0].name))
        settings = networks.HuggingFaceSettings(
            base=base or str(folder / BASE),
            fresh=base is not None,
            # Folders of before have learned without.
            **{"instructs": False, **config["settings"]},
        )
    tokenizer: Tokenizer
    if isinstance(settings, networks.HuggingFaceSettings):
        tokenizer = PretrainedTokenizer(str(folder / BASE), instructs=settings.instructs)
    else:
        tokenizer = load_public_tokenizer(folder / TOKENIZER)
    models = {}
    for stage in STAGES[config["kind"]]:
        model = build_model(settings, len(tokenizer.pieces), seed=0, stage=stage.name)
        load_weights(model, folder / weights_name(stage.name))
        models[stage.name] = model
    code_facts = config["codes"]
    codes = Codes(tuple(code_facts["names"]), bool(code_facts["is_exact"])) if code_facts else None
    return Generator(
        kind=config["kind"],
        language=str(config["language"]),
        tokenizer=tokenizer,
        models=models,
        settings=settings,
        public=Public(**{name: tuple(texts) for name, texts in config["public"].items()}),
        codes=codes,
        weights=tuple(map(float, config["weights"])),
    )
