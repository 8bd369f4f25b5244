"""A generator: the language models of its stages, with what they write and how."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from genie_dp.errors import GenieError
from genie_dp.languages.base import Language
from genie_dp.languages.thingtalk.decoding.constants import constants_of
from genie_dp.languages.thingtalk.slots import is_slot
from genie_dp.private.generators.codes import Codes
from genie_dp.private.generators.constrained import is_plain
from genie_dp.private.generators.decoder import DecoderSettings, PreLNDecoder
from genie_dp.private.generators.hugging_face import HuggingFaceCausal, HuggingFaceSettings
from genie_dp.private.generators.hugging_face_tokenizer import PretrainedTokenizer
from genie_dp.private.generators.recurrent import RecurrentLM, RecurrentSettings
from genie_dp.private.generators.stages import STAGES, Kind, Labelled, StageName
from genie_dp.private.generators.tokenizer import Tokenizer, build_tokenizer
from genie_dp.rng import child_seed

Settings = DecoderSettings | HuggingFaceSettings | RecurrentSettings


@dataclass(frozen=True, slots=True)
class Public:
    """What public rows say of programs, for sampling under a grammar.

    Attributes:
        texts: what a decoding grammar is given: constants of ThingTalk, programs of S-expressions.
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
        public: what sampling under a grammar needs.
        codes: the control codes, None without.
        weights: how many rows have each of `codes.all`, as released; empty before.
    """

    kind: Kind
    language: str
    tokenizer: Tokenizer
    models: Mapping[StageName, Any]
    settings: Settings
    public: Public = field(default_factory=Public)
    codes: Codes | None = None
    weights: tuple[float, ...] = ()

    def with_weights(self, weights: Sequence[float]) -> "Generator":
        """Return the same with the released distribution of codes."""
        return replace(self, weights=tuple(weights))


def new_generator(
    kind: Kind,
    language: Language,
    rows: Sequence[Labelled],
    settings: Settings,
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
    if isinstance(settings, HuggingFaceSettings):
        tokenizer = PretrainedTokenizer(settings.base)
    else:
        tokenizer = _tokenizer(kind, rows, functions, codes, words)
    models = {
        stage.name: build_model(settings, len(tokenizer.pieces), seed=seed, stage=stage.name)
        for stage in STAGES[kind]
    }
    public = public_of(rows, language, functions) if kind == "two-stage" else Public()
    return Generator(kind, language.name, tokenizer, models, settings, public, codes)


def _tokenizer(
    kind: Kind,
    rows: Sequence[Labelled],
    functions: Collection[str],
    codes: Codes | None,
    words: Collection[str],
) -> Tokenizer:
    """Return the tokenizer of public rows; it has no ids that the kind never writes or reads."""
    if kind != "two-stage":
        extra = {part for name in (codes.all if codes else ()) for part in name.split()}
        return build_tokenizer((row.utterance for row in rows), extra={*extra, *words})
    tokens = {*functions, *(token for row in rows for token in row.program)}
    texts = (text for row in rows for text in (row.utterance, row.program))
    own = {token for token in tokens if not is_plain(token)}
    return build_tokenizer(texts, extra={*own, *words})


def build_model(settings: Settings, tokens: int, *, seed: int, stage: str) -> Any:
    """Return a new model; equal seeds and stages give equal weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(child_seed(seed, "generator", stage) % 2**63)
        if isinstance(settings, HuggingFaceSettings):
            return HuggingFaceCausal(settings).eval()
        if isinstance(settings, RecurrentSettings):
            return RecurrentLM(tokens, settings).eval()
        return PreLNDecoder(tokens, settings).eval()


def public_of(
    rows: Iterable[Labelled], language: Language, functions: Iterable[str] = ()
) -> Public:
    """Return what public rows say of programs; those that cannot be read say nothing."""
    texts: set[str] = set()
    placeholders: set[str] = set()
    said: set[str] = set()
    written = set(functions)
    for row in rows:
        said.update(row.utterance)
        program = " ".join(row.program)
        if not program or not _is_program(program, language):
            continue
        written.update(row.program)
        placeholders.update(filter(is_slot, row.program))
        if language.name == "thingtalk":
            texts.update(filter(_is_constant, constants_of("", program)))
        else:
            texts.add(program)
    unsaid = {token for token in written - said if not is_plain_or_slot(token)}
    return Public(*(tuple(sorted(x)) for x in (texts - placeholders, placeholders, unsaid)))


def _is_program(program: str, language: Language) -> bool:
    try:
        language.from_tokens(program)
    except GenieError:
        return False
    return True


def _is_constant(text: str) -> bool:
    """Tell whether a constant is none that any plain words could be, and no placeholder."""
    is_quoted = text.startswith('"')
    words = text[1:-1].split() if is_quoted else []
    return not is_slot(text) and not (is_quoted and all(map(is_plain_or_slot, words)))


def is_plain_or_slot(word: str) -> bool:
    """Tell whether a word of a text needs no constant to be written."""
    return is_plain(word) or is_slot(word)
