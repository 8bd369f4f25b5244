"""Multinomial sampling and multinomial beams from a causal language model, in batches."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from genie_dp.private.generators.causal import CausalLM, State
from genie_dp.private.generators.constrained import SpelledPrefix, masks
from genie_dp.private.generators.tokenizer import Tokenizer

# Ids of a program under a grammar; more than grammars let it have (ThingTalk: 400 tokens).
BOUND = 4000


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How to draw.

    Attributes:
        width: hypotheses of a sequence; 1 is plain multinomial sampling. With more, twice as many
            are drawn of all continuations without putting back, the likeliest go on, and of those
            that ended the likeliest per id is taken (`beam_sample` of Hugging Face; the paper has
            1 for programs and 5 for utterances, section 4.3).
        temperature: logits are divided by it.
        top_k: only so many ids may come; 0 for all.
        top_p: only the likeliest ids may come that have this share together (Holtzman et al.,
            2020); 1 for all.
        longest: ids, the end included, after which a sequence is cut. Under a grammar it goes on
            to the next place where it may end instead.
    """

    width: int = 1
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    longest: int = 128

    def __post_init__(self) -> None:
        """Refuse what nothing can be drawn with."""
        if min(self.width, self.longest) < 1 or self.top_k < 0:
            raise ValueError(f"width and longest must be positive, top_k >= 0: {self}")
        if self.temperature <= 0 or not 0 < self.top_p <= 1:
            raise ValueError(f"expected temperature > 0 and 0 < top_p <= 1: {self}")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sequence that was drawn.

    Attributes:
        ids: of it, without the end.
        log_probability: of what was drawn, after temperature, top-k, top-p and grammar, in nats.
        ended: whether it came to its end; otherwise it was cut.
    """

    ids: tuple[int, ...]
    log_probability: float
    ended: bool


def kept(logits: torch.Tensor, settings: SamplingSettings) -> torch.Tensor:
    """Return (R, V) log-probabilities after temperature, top-k and top-p; -inf for the rest.

    >>> logits = torch.tensor([[0.5, 0.25, 0.125, 0.125]]).log()
    >>> kept(logits, SamplingSettings(top_p=0.6)).exp().tolist()[0][2:]
    [0.0, 0.0]
    """
    scores = logits.double() / settings.temperature
    if 0 < settings.top_k < scores.shape[1]:
        least = scores.topk(settings.top_k, dim=1).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if settings.top_p < 1:
        ordered, places = scores.softmax(1).sort(dim=1, descending=True, stable=True)
        # An id stays if those before it have less than the share: the likeliest always does.
        is_out = ordered.cumsum(1) - ordered >= settings.top_p
        scores = scores.masked_fill(is_out.gather(1, places.argsort(1)), -torch.inf)
    return scores.log_softmax(1)


@dataclass(slots=True)
class _Live:
    """A hypothesis that goes on; `row` is where its state is."""

    ids: tuple[int, ...]
    score: float
    path: SpelledPrefix | None
    row: int


@dataclass(slots=True)
class _Beam:
    """What is known of one sequence."""

    live: list[_Live]
    ended: list[Drawn] = field(default_factory=list)
    cut: list[Drawn] = field(default_factory=list)

    def result(self) -> Drawn:
        """Return the likeliest per id of those that ended, or of those that were cut.

        There is none where nothing could come next: scores of broken weights are no numbers.
        """
        return max(self.ended or self.cut, key=_quality, default=_NOTHING)


_NOTHING = Drawn((), -math.inf, ended=False)


def _quality(drawn: Drawn) -> float:
    return drawn.log_probability / (len(drawn.ids) + 1)


def draw(
    model: CausalLM,
    prompts: Sequence[Sequence[int]],
    tokenizer: Tokenizer,
    settings: SamplingSettings,
    *,
    generator: torch.Generator,
    paths: Sequence[SpelledPrefix] | None = None,
    never: Sequence[int] = (),
) -> list[Drawn]:
    """Return one sequence for each prompt; all prompts go through the model as one batch.

    Args:
        model: in evaluation mode.
        prompts: ids, BEGIN among them; none empty.
        tokenizer: the model's.
        settings: how to draw.
        generator: of the random numbers; on the CPU, so that they are the same on any device.
        paths: what may be written, one empty prefix a prompt; None for any text.
        never: ids that may not come, beside those that stand for no text.
    """
    with torch.inference_mode():
        beams = [
            _Beam([_Live((), 0.0, paths[row] if paths else None, row)])
            for row in range(len(prompts))
        ]
        _run(model, prompts, beams, (_never(tokenizer, never), tokenizer.end), settings, generator)
    return [beam.result() for beam in beams]


def _run(
    model: CausalLM,
    prompts: Sequence[Sequence[int]],
    beams: Sequence[_Beam],
    special: tuple[torch.Tensor, int],
    settings: SamplingSettings,
    generator: torch.Generator,
) -> None:
    """Take steps until no hypothesis goes on; `special`: which ids never come, and the end."""
    padded, lengths = _padded(prompts)
    device = model.device
    logits, state = model.start(padded.to(device), lengths.to(device))
    never, end = special
    while True:
        scores = _scores(logits, beams, never, settings)
        _advance(beams, scores, end, settings, generator)
        live = [each for beam in beams for each in beam.live]
        if not live:
            break
        logits, state = _step(model, state, live)


def _never(tokenizer: Tokenizer, more: Sequence[int]) -> torch.Tensor:
    """Return (V,): ids that never come."""
    found = torch.tensor([piece is None for piece in tokenizer.pieces])
    found[list(more)] = True
    found[tokenizer.end] = False
    return found


def _padded(prompts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (B, P) ids, padded on the right, and (B,) lengths."""
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    padded = torch.zeros(len(prompts), int(lengths.max()), dtype=torch.int64)
    for i, prompt in enumerate(prompts):
        padded[i, : len(prompt)] = torch.tensor(prompt)
    return padded, lengths


def _scores(
    logits: torch.Tensor, beams: Sequence[_Beam], never: torch.Tensor, settings: SamplingSettings
) -> torch.Tensor:
    """Return (R, V) log-probabilities of what may come after each live hypothesis."""
    live = [each for beam in beams for each in beam.live]
    logits = logits.cpu().float()
    # A model may have more ids than its tokenizer; these write nothing.
    logits = logits[:, : len(never)].masked_fill(never, -torch.inf)
    paths = [each.path for each in live if each.path is not None]
    if paths:
        closing = [len(each.ids) + 1 >= settings.longest for each in live]
        allowed = torch.from_numpy(masks(paths, closing=closing))
        logits = logits.masked_fill(~allowed, -torch.inf)
    return kept(logits, settings)


def _advance(
    beams: Sequence[_Beam],
    scores: torch.Tensor,
    end: int,
    settings: SamplingSettings,
    generator: torch.Generator,
) -> None:
    """Take one step of all beams; rows of `scores` are their live hypotheses in order."""
    own = torch.tensor([each.score for beam in beams for each in beam.live], dtype=torch.float64)
    totals = scores + own[:, None]
    # Largest of scores with Gumbel noise: a draw without putting back (Kool et al., 2019).
    noise = torch.rand(totals.shape, generator=generator, dtype=torch.float64)
    noised = totals - (-noise.clamp_min(1e-300).log()).clamp_min(1e-300).log()
    count = 1 if settings.width == 1 else 2 * settings.width
    values, ids = noised.topk(min(count, noised.shape[1]), dim=1)
    rows = list(zip(values.tolist(), totals.gather(1, ids).tolist(), ids.tolist(), strict=True))
    first = 0
    for beam in beams:
        last = first + len(beam.live)
        if beam.live:
            _follow(beam, _best(rows[first:last], count), end, settings)
        first = last


def _best(
    rows: Sequence[tuple[list[float], list[float], list[int]]], count: int
) -> list[tuple[float, int, int]]:
    """Return (score, hypothesis, id) of the draws with the largest noisy scores."""
    found = [
        (noisy, score, row, index)
        for row, columns in enumerate(rows)
        for noisy, score, index in zip(*columns, strict=True)
        if noisy > -torch.inf
    ]
    found.sort(reverse=True)
    return [(score, row, index) for _, score, row, index in found[:count]]


def _follow(
    beam: _Beam, drawn: list[tuple[float, int, int]], end: int, settings: SamplingSettings
) -> None:
    """Let the likeliest of what was drawn go on; an end counts among the best `width`."""
    following: list[_Live] = []
    for rank, (score, row, index) in enumerate(sorted(drawn, reverse=True)):
        parent = beam.live[row]
        if index == end:
            if rank < settings.width:
                beam.ended.append(Drawn(parent.ids, score, ended=True))
            continue
        if len(following) == settings.width:
            continue
        ids = (*parent.ids, index)
        path = parent.path.then(index) if parent.path else None
        following.append(_Live(ids, score, path, parent.row))
    beam.live = [each for each in following if not _is_cut(each, beam, settings)]
    if beam.live and len(beam.ended) >= settings.width:
        worst = sorted(map(_quality, beam.ended))[-settings.width]
        if worst >= max(each.score / (len(each.ids) + 1) for each in beam.live):
            beam.live = []


def _is_cut(each: _Live, beam: _Beam, settings: SamplingSettings) -> bool:
    """Tell whether a hypothesis is too long, and keep it then as one that was cut."""
    most = BOUND if each.path else settings.longest
    is_cut = len(each.ids) >= most
    if is_cut:
        beam.cut.append(Drawn(each.ids, each.score, ended=False))
    return is_cut


def _step(model: CausalLM, state: State, live: Sequence[_Live]) -> tuple[torch.Tensor, State]:
    """Return logits and state after the last id of each live hypothesis."""
    where = [each.row for each in live]
    last = torch.tensor([each.ids[-1] for each in live], device=model.device)
    if where != list(range(len(state.places))):
        state = state.take(torch.tensor(where, device=model.device))
    for row, each in enumerate(live):
        each.row = row
    return model.step(state, last)
