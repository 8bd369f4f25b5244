"""Figures 2 and 6: perplexity of held-out sentences, and the picture of amplification."""

import math
from collections.abc import Sequence

import torch

from genie_dp.private.crt.accounting import amplify_epsilon
from genie_dp.private.generators.generator import Generator
from genie_dp.private.generators.models import collate
from genie_dp.private.generators.stages import STAGES, LabelledRow, encode_row

_WIDTH, _HEIGHT, _MARGIN = 640, 400, 56
_COLORS = ("#1b6ca8", "#2c7a4b", "#b5462f", "#7a4b9a", "#8a6d1d", "#444444")


def row_losses(
    generator: Generator, rows: Sequence[LabelledRow], *, batch: int = 64
) -> list[float]:
    """Return the loss of each row's utterance in nats, summed over its tokens and END."""
    stage = STAGES[generator.kind][-1]
    model = generator.models[stage.name]
    read = [encode_row(stage, row, generator.tokenizer, longest=model.longest) for row in rows]
    losses: list[float] = []
    with torch.no_grad():
        for start in range(0, len(read), batch):
            sequences = collate(read[start : start + batch]).to(model.device)
            losses += model.loss(sequences).tolist()
    return losses


def perplexity(generator: Generator, rows: Sequence[LabelledRow], *, batch: int = 64) -> float:
    """Return the perplexity of utterances per *word*, the end counted as one.

    Tokenizers differ in what they split; words are the same for all models.
    """
    words = sum(len(row.utterance) + 1 for row in rows)
    return math.exp(sum(row_losses(generator, rows, batch=batch)) / words)


def amplification_svg(
    epsilons: Sequence[float] = (0.1, 0.5, 1.0, 2.0, 4.0), *, points: int = 101
) -> str:
    """Return a self-contained picture: epsilon by gamma, a curve for each epsilon of DP-SGD.

    After figure 6 of "Provably Confidential Language Modelling" (2022).

    >>> amplification_svg((1.0,)).count("<polyline")
    1
    """
    top = max(epsilons)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="12">',
        "<title>Bayesian confidentiality by the share of secrets that redaction misses</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        *_axes(top),
    ]
    for number, epsilon in enumerate(epsilons):
        color = _COLORS[number % len(_COLORS)]
        gammas = [i / (points - 1) for i in range(points)]
        line = " ".join(_point(g, amplify_epsilon(epsilon, g), top) for g in gammas)
        parts.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{line}"/>')
        x, y = _place(1.0, epsilon, top)
        parts.append(f'<text x="{x + 4:.1f}" y="{y + 4:.1f}" fill="{color}">{epsilon:g}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axes(top: float) -> list[str]:
    left, bottom = _place(0.0, 0.0, top)
    right, upper = _place(1.0, top, top)
    parts = [
        f'<path d="M{left} {upper}V{bottom}H{right}" fill="none" stroke="#333"/>',
        f'<text x="{(left + right) / 2:.0f}" y="{_HEIGHT - 12}" text-anchor="middle">'
        "share of secrets that redaction misses, gamma</text>",
        f'<text x="14" y="{(bottom + upper) / 2:.0f}" text-anchor="middle" transform="rotate(-90 '
        f'14 {(bottom + upper) / 2:.0f})">epsilon of Bayesian confidentiality</text>',
        f'<text x="{right:.0f}" y="{upper - 14:.0f}" text-anchor="end">epsilon of DP-SGD:</text>',
    ]
    for i in range(6):
        x, y = _place(i / 5, i / 5 * top, top)
        parts.append(f'<text x="{x:.0f}" y="{bottom + 18}" text-anchor="middle">{i / 5:g}</text>')
        parts.append(
            f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{i / 5 * top:.2g}</text>'
        )
    return parts


def _place(gamma: float, epsilon: float, top: float) -> tuple[float, float]:
    wide, high = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
    return _MARGIN + gamma * wide, _HEIGHT - _MARGIN - epsilon / top * high


def _point(gamma: float, epsilon: float, top: float) -> str:
    x, y = _place(gamma, epsilon, top)
    return f"{x:.1f},{y:.1f}"
