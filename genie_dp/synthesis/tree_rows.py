"""Rows of derivations: the same as synthesis writes of them."""

import json
from dataclasses import replace

from genie_dp.records import Example, Slot
from genie_dp.synthesis.compiler import Compiled
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.trees import Tree


def pair_of(piece: Piece, compiled: Compiled) -> Example:
    """Return the pair of a whole sentence: its words and program, without what else a row has."""
    words, program = piece.words, piece.value.text
    for character, token in compiled.placeholders.names_in(piece.count) if piece.mask else ():
        words, program = words.replace(character, token), program.replace(character, token)
    return Example(
        "", words, program, compiled.language.name, functions=tuple(piece.value.functions)
    )


def row_of(tree: Tree, compiled: Compiled, pair: Example | None = None) -> Example:
    """Return the row of a derivation; `pair` is what `pair_of` gave, if it is known."""
    piece = tree.piece
    slots = f"{{{piece.slots}}}"
    for character, token in compiled.placeholders.names_in(piece.count) if piece.mask else ():
        slots = slots.replace(character, token)
    return replace(
        pair or pair_of(piece, compiled),
        derivation=tuple(json.loads(f"[{piece.derivation}]")),
        depth=tree.depth,
        slots={token: Slot(**slot) for token, slot in json.loads(slots).items()},
    )
