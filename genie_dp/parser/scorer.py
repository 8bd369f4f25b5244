"""The likelihood of programs under a parser, for audits of private models."""

import math
from collections.abc import Sequence
from pathlib import Path

import torch

from genie_dp.errors import GenieError
from genie_dp.models.batches import collate
from genie_dp.models.saved import load_model
from genie_dp.models.sentences import encode
from genie_dp.models.vocabulary import UNK, Pair
from genie_dp.parser import folder as files
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.parser.reading.prepare import Left, Preparer
from genie_dp.parser.rows import NOW, Style, target_of
from genie_dp.private.audit.models import Scorer, check_programs, open_scorer, read_config
from genie_dp.private.source import PrivateRow
from genie_dp.records import Example
from genie_dp.templates.inputs import read_library

_BATCH = 32


class ParserScorer:
    """A parser: how likely a row's program is, given its sentence. It writes no sentences.

    Rows are read as those of its training were; one in which no reading agrees with the program
    was none of them, and its loss is not a number; nor is that of a program with a token that the
    parser can neither write nor copy.
    """

    kind = "parser"
    needs_programs = True

    def __init__(self, folder: Path, *, device: str = "cpu"):
        """Read the folder.

        Raises:
            GenieError: it is no parser (N010, N011), or its network cannot be read (M001).
        """
        facts = files.facts_of(folder)
        try:
            self.language = str(facts["language"])
            style, skills = Style.from_facts(facts), str(facts["skills"])
        except (KeyError, TypeError, ValueError) as error:
            raise files.broken(folder, f"config.json: {error}") from None
        files.check_skills(folder, skills)
        library = read_library(self.language, files.skill_paths(folder), skip_broken=True)
        self.target = target_of(style, self.language, library)
        self.saved = load_model(folder, device=device)
        self.device = device
        self._preparer: Preparer | None = None
        if self.target.reads_values:
            reading = files.read_reader(folder)
            locale = files.locale_in(folder, facts)
            units = self.target.units
            reader = load_reader(phrases=reading.phrases, units=units, locale=locale)
            texts = files.read_texts(folder)
            form = self.target.language.form
            fixed = frozenset(x.constant for text in texts for x in form(text).literals)
            self._preparer = Preparer(
                reader, self.target.language, library, NOW, locale, fixed, reading.glued
            )

    def losses(self, rows: Sequence[PrivateRow]) -> list[float]:
        """Return the loss of each row's program in nats.

        Raises:
            GenieError: a row has no program (N054).
        """
        check_programs(rows, self.kind)
        pairs = {i: pair for i, row in enumerate(rows) if (pair := self._pair(row)) is not None}
        order = sorted(pairs, key=lambda i: len(pairs[i].program))
        losses = [math.nan] * len(rows)
        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            vocabulary = self.saved.vocabulary
            encoded_rows = [encode(pairs[i], vocabulary) for i in chosen]
            batch = collate(encoded_rows, vocabulary).to(self.device)
            with torch.inference_mode():
                totals = -self.saved.model.score(batch).sum(1)
            # A token that can be neither written nor copied has no probability at all.
            totals = totals.masked_fill((batch.targets == UNK).any(1), math.nan)
            for i, loss in zip(chosen, totals.tolist(), strict=True):
                losses[i] = loss
        return losses

    def _pair(self, row: PrivateRow) -> Pair | None:
        """Return a row as training read it; None where it left the row out."""
        utterance, program = row.utterance, row.program or ""
        try:
            if self._preparer is not None:
                example = Example("", utterance, program, self.language, "private")
                prepared = self._preparer.prepare(example)
                if isinstance(prepared, Left):
                    return None
                utterance, program = prepared.row.utterance, prepared.row.program
            if self.target.styled is not self.target.language:
                tree = self.target.language.from_tokens(program)
                program = self.target.styled.tokens(tree, self.target.library)
        except GenieError:
            return None
        return Pair(tuple(utterance.split()), tuple(program.split()))


def open_any(folder: Path, *, device: str = "cpu", longest: int = 256) -> Scorer:
    """Return the scorer of a parser, a generator, or a causal model of Hugging Face.

    Raises:
        GenieError: it is none of them (N056), or cannot be read.
    """
    if "parser" in read_config(folder):
        return ParserScorer(folder, device=device)
    return open_scorer(folder, device=device, longest=longest)
