"""Several synthetic corpora against one real one: all figures, as plain data."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.metrics import programs
from genie_dp.private.metrics.language_model import CrossFitted, SentenceModel
from genie_dp.private.metrics.likelihood import nats_and_words
from genie_dp.private.metrics.mauve import Featuriser, MauveSettings, mauve
from genie_dp.private.metrics.measures import Intervals, chi_square, coverage, overlap, precision
from genie_dp.private.metrics.programs import Read, TokenFormReader
from genie_dp.private.source import PrivateRow
from genie_dp.rng import stream

if TYPE_CHECKING:
    from genie_dp.private.audit.models import Scorer


@dataclass(frozen=True, slots=True, order=True)
class ComparedRow:
    """A sentence with its program.

    Neither is shown: a row may be a private one, and output ends in logs.

    Attributes:
        utterance: words separated by one space.
        program: token form, "" for none.
    """

    utterance: str = field(repr=False)
    program: str = field(default="", repr=False)


def draw_rows(rows: Iterable[ComparedRow], size: int, *, seed: int = 0) -> tuple[ComparedRow, ...]:
    """Return so many rows, drawn without replacement, whatever the order they come in.

    Overlaps grow with the number of rows (Mireshghallah et al. 2023, B.3), so corpora are compared
    at one size.

    >>> rows = [ComparedRow("a"), ComparedRow("b"), ComparedRow("c")]
    >>> draw_rows(rows, 2) == draw_rows(reversed(rows), 2)
    True
    """
    ordered = sorted(rows)
    if size > len(ordered):
        raise ValueError(f"expected at most {len(ordered)} rows to draw, got {size}")
    # The same draw from equal files: a file compared with itself is compared row by row.
    return tuple(sorted(stream(seed, "metrics", "rows").sample(ordered, size)))


def word_counts(rows: Iterable[ComparedRow]) -> Counter[str]:
    """Return how often each word occurs, "when the text is tokenized using spaces" (section 4.2).

    >>> word_counts([ComparedRow("wake me"), ComparedRow("wake up")])["wake"]
    2
    """
    return Counter(word for row in rows for word in row.utterance.split())


def has_programs(rows: Sequence[ComparedRow]) -> bool:
    """Return whether every row has a program."""
    return all(row.program for row in rows)


Figure = dict[str, Any]
Parse = Callable[[Sequence[str]], Sequence[str]]
_MOST_FUNCTIONS = 30


@dataclass(frozen=True, slots=True)
class Corpus:
    """The rows of a file, under the name that the report shows."""

    name: str
    rows: tuple[ComparedRow, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The measurements, and their settings.

    Attributes:
        programs: reads programs; None to measure sentences only.
        featuriser: makes the vectors of MAUVE; None to leave MAUVE out.
        model: gives sentences their loss; None for two models of the real sentences.
        parse: a parser: token forms for sentences, "" for none. With it, functions are counted in
            its programs for the synthetic sentences (section 4.2), and compared with their
            programs.
        generators: of the synthetic files, in their order, for the likelihood of the real rows; ()
            for none.
        rows: how many of each file are compared; 0 for as many as the smallest has.
        intervals, mauve: see there.
        is_public: the real rows are public: functions may be named.
        seed: of the rows drawn.
    """

    programs: TokenFormReader | None
    featuriser: Featuriser | None
    model: SentenceModel | None = None
    parse: Parse | None = None
    generators: "tuple[Scorer, ...]" = ()
    rows: int = 0
    intervals: Intervals = field(default_factory=Intervals)
    mauve: MauveSettings = field(default_factory=MauveSettings)
    is_public: bool = False
    seed: int = 0


def compare_corpora(real: Corpus, synthetic: Sequence[Corpus], how: Comparison) -> dict[str, Any]:
    """Return the figures of each synthetic corpus; docs/private-models.md lists the fields.

    Raises:
        GenieError: a corpus without rows (J004), or without programs where these are measured
            (J005).
    """
    check(real, synthetic, how)
    size = how.rows or min(len(corpus.rows) for corpus in (real, *synthetic))
    sample = Corpus(real.name, draw_rows(real.rows, size, seed=how.seed))
    model = how.model or CrossFitted([row.utterance for row in real.rows])
    bench = _Bench(sample, how, model)
    others = [
        Corpus(corpus.name, draw_rows(corpus.rows, size, seed=how.seed)) for corpus in synthetic
    ]
    return {
        "rows": size,
        "featuriser": how.featuriser.name if how.featuriser else None,
        "buckets": how.mauve.buckets_for(size) if how.featuriser else None,
        "language_model": model.name,
        "parsed": how.parse is not None,
        "real": {"rows_in_file": len(real.rows), **bench.real_described()},
        "synthetic": [
            {"rows_in_file": len(whole.rows), **bench.describe(corpus, place)}
            for place, (whole, corpus) in enumerate(zip(synthetic, others, strict=True))
        ],
        "functions": bench.by_function(others) if how.is_public else None,
    }


def check(real: Corpus, synthetic: Sequence[Corpus], how: Comparison) -> None:
    """Raise GenieError for everything that keeps the corpora from being compared."""
    problems = []
    for corpus in (real, *synthetic):
        if not corpus.rows:
            hint = "name a file with rows"
            problems.append(Problem("J004", f"{corpus.name} holds no rows", hint=hint))
        elif len(corpus.rows) < how.rows:
            message = (
                f"{corpus.name} holds fewer rows than the {how.rows:,} that are to be compared"
            )
            problems.append(Problem("J004", message, hint="lower --rows, or leave it out"))
        elif how.programs and not how.parse and not has_programs(corpus.rows):
            message = f"{corpus.name} holds rows without programs"
            hint = "name a parser for all files with --parser, or add --utterances-only"
            problems.append(Problem("J005", message, hint=hint))
    if problems:
        raise GenieError(problems)


class _Bench:
    """The real rows, read once for all comparisons."""

    def __init__(self, real: Corpus, how: Comparison, model: SentenceModel):
        self.real, self.how, self.model = real, how, model
        self.texts = [row.utterance for row in real.rows]
        self.words = word_counts(real.rows)
        self._said: dict[str, str] = {}
        self.parsed = self._parse(real.rows)
        # Right programs where there are any; else the parser's are the best known.
        own = has_programs(real.rows) or not self.parsed
        self.read = self._read([row.program for row in real.rows] if own else self.parsed)
        self.functions = _count_functions(self.read)
        if how.programs and not self.functions:
            language = how.programs.language.name
            message = f"no program of {real.name} can be read as {language}"
            hint = "name the language of the rows with --language"
            raise GenieError(Problem("J007", message, hint=hint))

    def _parse(self, rows: Sequence[ComparedRow]) -> list[str]:
        """Return the parser's program for each sentence; it is called once for each."""
        if not (self.how.parse and self.how.programs):
            return []
        new = sorted({row.utterance for row in rows} - set(self._said))
        self._said.update(zip(new, self.how.parse(new), strict=True))
        return [self._said[row.utterance] for row in rows]

    def _read(self, programs: Sequence[str]) -> list[Read]:
        return [self.how.programs.read(text) for text in programs] if self.how.programs else []

    # ------------------------------------------------------------------------ one corpus

    def real_described(self) -> dict[str, Any]:
        """Return the figures of the real rows by themselves, which perfect rows would reach."""
        held_out = (
            self.model.held_out(self.texts)
            if isinstance(self.model, CrossFitted)
            else self.model.losses(self.texts)
        )
        figures: dict[str, Figure] = {"loss": self._loss(held_out)}
        if self.how.programs and has_programs(self.real.rows):
            figures["valid"] = self._valid(self.read)
        if self.parsed:
            figures |= self._of_parser()
        return {
            "name": self.real.name,
            "word_types": len(self.words),
            "function_types": len(self.functions) if self.how.programs else None,
            "figures": figures,
        }

    def _of_parser(self) -> dict[str, Figure]:
        """Return the figures of the parser on the real sentences ("Ground Truth" of Table 1)."""
        programs_read = self._read(self.parsed)
        return {
            **dict(self._by_functions(programs_read)),
            **self._pairs(self.real.rows, self.parsed),
        }

    def describe(self, one: Corpus, place: int = 0) -> dict[str, Any]:
        """Return the figures of a synthetic corpus, the one at a place."""
        words = word_counts(one.rows)
        parsed = self._parse(one.rows)
        own = self._read([row.program for row in one.rows]) if has_programs(one.rows) else []
        counted = self._read(parsed) if parsed else own
        figures = dict(self._by_words(one, words))
        if self.how.generators:
            figures["held_out"] = self._held_out(self.how.generators[place])
        if own:
            figures["valid"] = self._valid(own)
        if counted:
            figures |= dict(self._by_functions(counted))
        if parsed and own:
            figures |= self._pairs(one.rows, parsed)
        return {
            "name": one.name,
            "word_types": len(words),
            "function_types": len(_count_functions(counted)) if counted else None,
            "figures": figures,
        }

    def _by_words(self, one: Corpus, words: Counter[str]) -> Iterator[tuple[str, Figure]]:
        texts = [row.utterance for row in one.rows]
        yield "word_overlap", {"value": overlap(self.words, words)}
        yield "word_precision", {"value": precision(self.words, words)}
        if self.how.featuriser:
            result = mauve(self.texts, texts, self.how.featuriser, self.how.mauve)
            runs = list(result.scores)
            yield "mauve", {"value": result.mean, "deviation": result.deviation, "runs": runs}
        yield "loss", self._loss(self.model.losses(texts))
        texts_of_real = set(self.texts)
        yield "copies", self.how.intervals.mean([float(text in texts_of_real) for text in texts])

    def _held_out(self, generator: "Scorer") -> Figure:
        """Return how likely a generator finds the real rows."""
        rows = [PrivateRow(row.utterance, row.program or None) for row in self.real.rows]
        return self._loss(nats_and_words(generator, rows))

    def _by_functions(self, read: Sequence[Read]) -> Iterator[tuple[str, Figure]]:
        used = _count_functions(read)
        yield "function_overlap", {"value": overlap(self.functions, used)}
        yield "function_precision", {"value": precision(self.functions, used)}
        yield "chi_square", {"value": chi_square(self.functions, used)}
        for rank in coverage(self.functions, used):
            yield f"top_{rank.k}", {"value": rank.share, "found": rank.found, "of": rank.of}
        graphs = programs.graph_coverage(self.read, read)
        yield "graph_recall", {"value": graphs.recall}
        yield "graph_precision", {"value": graphs.precision}

    def _pairs(self, rows: Sequence[ComparedRow], parsed: Sequence[str]) -> dict[str, Figure]:
        if not has_programs(rows) or not self.how.programs:
            return {}
        matches = programs.match_programs([row.program for row in rows], parsed, self.how.programs)
        return dict(programs.figures_of_matches(matches, self.how.intervals))

    def _loss(self, losses: Sequence[tuple[float, int]]) -> Figure:
        return self.how.intervals.ratio([n for n, _ in losses], [float(t) for _, t in losses])

    def _valid(self, read: Sequence[Read]) -> Figure:
        return self.how.intervals.mean([float(program.kind == "valid") for program in read])

    # --------------------------------------------------------------------- all of them

    def by_function(self, others: Sequence[Corpus]) -> list[dict[str, Any]]:
        """Return the most frequent real functions with their share in each corpus."""
        counts = [self._functions_of(corpus) for corpus in others]
        ranked = sorted(self.functions, key=lambda name: (-self.functions[name], name))
        return [
            {
                "name": name,
                "real": self.functions[name] / self.functions.total(),
                "synthetic": [c[name] / c.total() if c.total() else 0.0 for c in counts],
            }
            for name in ranked[:_MOST_FUNCTIONS]
        ]

    def _functions_of(self, one: Corpus) -> Counter[str]:
        if self.how.programs is None:
            return Counter()
        programs = self._parse(one.rows) or [row.program for row in one.rows]
        return _count_functions(self._read(programs))


def _count_functions(read: Sequence[Read]) -> Counter[str]:
    counts = Counter[str]()
    for program in read:
        counts.update(program.functions)
    return counts
