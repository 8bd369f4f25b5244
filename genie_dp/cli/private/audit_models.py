"""Scorers of any folder that this project writes, a parser's among them."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genie_dp.errors import GenieError

if TYPE_CHECKING:
    from genie_dp.parser.reading.prepare import Preparer
    from genie_dp.private.audit.scorer import Scorer
    from genie_dp.private.source import PrivateRow

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
        from genie_dp.learn.saved import load_model
        from genie_dp.parser import folder as files
        from genie_dp.parser.parser import library_of
        from genie_dp.parser.rows import Style, target_of

        facts = files.facts_of(folder)
        try:
            self.language = str(facts["language"])
            style, skills = Style.of(facts), str(facts["skills"])
        except (KeyError, TypeError, ValueError) as error:
            raise files.broken(folder, f"config.json: {error}") from None
        files.check_skills(folder, skills)
        library = library_of(self.language, files.skill_paths(folder))
        self.target = target_of(style, self.language, library)
        self.saved = load_model(folder, device=device)
        self.device = device
        self._preparer = self._of(folder, facts) if self.language == "thingtalk" else None

    def _of(self, folder: Path, facts: Any) -> "Preparer":
        from genie_dp.parser import folder as files
        from genie_dp.parser.reading.constants import literals
        from genie_dp.parser.reading.load import load_reader
        from genie_dp.parser.reading.prepare import Preparer
        from genie_dp.parser.reading.reading import Locale
        from genie_dp.parser.rows import NOW

        reader = load_reader(str(facts["reader"]), phrases=files.read_reader(folder).phrases)
        texts = files.read_texts(folder)
        fixed = frozenset(x.text for text in texts for x in literals(tuple(text.split(" "))))
        locale = Locale(**facts["locale"])
        target = self.target
        return Preparer(reader, target.language, target.library, NOW, locale, fixed)

    def losses(self, rows: "Sequence[PrivateRow]") -> list[float]:
        """Return the loss of each row's program in nats.

        Raises:
            GenieError: a row has no program (N054).
        """
        from genie_dp.learn.batches import collate, encode
        from genie_dp.private.audit.scorer import check_programs

        check_programs(rows, self.kind)
        pairs = [self._pair(row) for row in rows]
        found = [math.nan] * len(rows)
        places = [i for i, pair in enumerate(pairs) if pair is not None]
        places.sort(key=lambda i: len(pairs[i].program))
        for start in range(0, len(places), _BATCH):
            some = places[start : start + _BATCH]
            vocabulary = self.saved.vocabulary
            batch = collate([encode(pairs[i], vocabulary) for i in some], vocabulary)
            for i, loss in zip(some, self._losses(batch), strict=True):
                found[i] = loss
        return found

    def _losses(self, batch: Any) -> list[float]:
        import torch

        from genie_dp.learn.vocabulary import UNK

        moved = batch.to(self.device)
        with torch.inference_mode():
            totals = -self.saved.model.score(moved).sum(1)
        # A token that can be neither written nor copied has no probability at all.
        found: list[float] = totals.masked_fill((moved.targets == UNK).any(1), math.nan).tolist()
        return found

    def _pair(self, row: "PrivateRow") -> Any:
        from genie_dp.learn.pairs import Pair
        from genie_dp.parser.reading.prepare import Left
        from genie_dp.records import Example

        said, program = row.utterance, row.program or ""
        try:
            if self._preparer is not None:
                made = self._preparer.prepare(Example("", said, program, self.language, "private"))
                if isinstance(made, Left):
                    return None
                said, program = made.row.utterance, made.row.program
            if self.target.styled is not self.target.language:
                tree = self.target.language.from_tokens(program)
                program = self.target.styled.tokens(tree, self.target.library)
        except GenieError:
            return None
        return Pair(tuple(said.split()), tuple(program.split()))


def open_any(folder: Path, *, device: str = "cpu", longest: int = 256) -> "Scorer":
    """Return the scorer of a parser, a generator, or a causal model of Hugging Face.

    Raises:
        GenieError: it is none of them (N056), or cannot be read.
    """
    from genie_dp.private.audit.models import config_of, open_scorer

    if "parser" in config_of(folder):
        return ParserScorer(folder, device=device)
    return open_scorer(folder, device=device, longest=longest)


def language_of(folder: Path) -> str | None:
    """Return the language of a model's programs, None where it has none."""
    from genie_dp.private.audit.models import config_of

    config = config_of(folder)
    parser = config.get("parser")
    found = parser.get("language") if isinstance(parser, dict) else config.get("language")
    return str(found) if found else None
