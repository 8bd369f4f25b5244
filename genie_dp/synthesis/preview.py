"""A few random results of every template, for whoever edits it."""

from collections.abc import Iterator
from dataclasses import dataclass

from genie_dp.rng import child_seed
from genie_dp.synthesis.cells import Cell, cells
from genie_dp.synthesis.engine import Engine
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.placeholders import GAP
from genie_dp.synthesis.quotas import even
from genie_dp.synthesis.rules import piece_of
from genie_dp.synthesis.sampler import plan
from genie_dp.templates.ast import Template

_TRIES = 20  # draws for each result wanted, before a template is said to give none


@dataclass(frozen=True, slots=True)
class Sample:
    """What a template gave: (words, program) pairs; none if it never applies."""

    template: Template
    pairs: tuple[tuple[str, str], ...]


def samples(engine: Engine, count: int) -> Iterator[Sample]:
    """Yield `count` random results of each template, at the least depth where it gives any."""
    by_template: dict[str, list[Cell]] = {}
    templates: dict[str, Template] = {}
    for rules in engine.compiled.rules.values():
        for rule in rules:
            templates.setdefault(rule.template.id, rule.template)
            found = by_template.setdefault(rule.template.id, [])
            for depth in range(engine.config.max_depth + 1):
                at_depth = list(cells(rule, depth, engine.pools))
                found.extend(at_depth)
                if at_depth:
                    break
    for name, template in templates.items():
        yield Sample(template, tuple(_pairs(engine, by_template[name], count, name)))


def _pairs(engine: Engine, found: list[Cell], count: int, name: str) -> Iterator[tuple[str, str]]:
    if not found:
        return
    seed = child_seed(engine.config.seed, "preview", name, "cells")
    quotas = even(count * _TRIES, [cell.size for cell in found], seed)
    chosen = plan(found, quotas, engine.config.seed, "preview", name)
    met: set[str] = set()
    for cell, pieces in chosen.draws(0, chosen.total):
        combined = cell.wording.assemble(*pieces)
        if combined is None or combined.text in met:
            continue
        met.add(combined.text)
        piece = piece_of(cell.rule, pieces, combined)
        yield _said(engine, piece, combined.text), _said(engine, piece, combined.value.text)
        if len(met) == count:
            return


def _said(engine: Engine, piece: Piece, text: str) -> str:
    placeholders = engine.compiled.placeholders
    count = placeholders.count(piece.text)
    for character, token in placeholders.names_in(count):
        text = text.replace(character, token)
    return text.replace(GAP, "____")
