"""Tasks for crowd workers: rows of the CSV that Mechanical Turk makes a batch of, and their pages.

The contents of a page go through one column of each sentence, percent-encoded JSON: of letters,
digits and `%-._~` only, it is the same whether or not a platform escapes the values of the page.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from genie_dp.paraphrase.checks import DEFAULT, CheckConfig
from genie_dp.paraphrase.collect import answers_of, collect, read_results
from genie_dp.paraphrase.config import TaskConfig, ValidationConfig
from genie_dp.paraphrase.shown import ShownRow, ShownValue, read_shown_by_id
from genie_dp.paraphrase.tables import guard_sentences, write_table
from genie_dp.paraphrase.typed import forms
from genie_dp.recipe import REQUIRED, setting
from genie_dp.rng import stream
from genie_dp.run.files import open_text, refuse_overlap
from genie_dp.run.stage import Output, Result
from genie_dp.stage.kernel import OutputOption, Stage


def paraphrase_page(*, sentences: int, paraphrases: int, config: CheckConfig) -> str:
    """Return the page of a paraphrase task; `${data1}` and so on are left for the platform."""
    return _render_page(
        "paraphrase.html.jinja",
        sentences=sentences,
        paraphrases=paraphrases,
        limits={"characters": config.least_characters, "words": config.least_words},
    )


def validation_page(*, sentences: int) -> str:
    """Return the page of a validation task."""
    return _render_page("validation.html.jinja", sentences=sentences)


def _render_page(name: str, **values: object) -> str:
    environment = Environment(
        loader=PackageLoader("genie_dp.paraphrase", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name).render(**values)


SENTENCES = 4  # of a task, and paraphrases of a sentence: Genie, section 3.2
PARAPHRASES = 2
_MOST_FORMS = 200  # that a page checks for; others are left to `collect`
# A control for sentences that nothing else differs from.
_FAR = ("What is the capital of the country with the most volcanoes", "Water the tulips by hand")


T = TypeVar("T")


def groups(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    """Yield items in groups of a size; the last group may be smaller.

    >>> list(groups("abcde", 2))
    [('a', 'b'), ('c', 'd'), ('e',)]
    """
    unread = iter(items)
    while group := tuple(islice(unread, size)):
        yield group


def encode_cell(content: Any) -> str:
    """Return plain data as text that is safe in any cell and any page.

    >>> encode_cell({"sentence": "<b>"})
    '%7B%22sentence%22%3A%22%3Cb%3E%22%7D'
    """
    return quote(json.dumps(content, ensure_ascii=False, separators=(",", ":")), safe="")


def paraphrase_columns(sentences: int = SENTENCES) -> tuple[str, ...]:
    """Return the header of a batch of paraphrase tasks.

    >>> paraphrase_columns(1)
    ('id1', 'sentence1', 'data1')
    """
    return tuple(f"{name}{n + 1}" for n in range(sentences) for name in ("id", "sentence", "data"))


def paraphrase_tasks(
    rows: Iterable[ShownRow], *, sentences: int = SENTENCES
) -> Iterator[dict[str, str]]:
    """Yield one row of the batch for each task; the last one may have empty cells at its end."""
    for group in groups(rows, sentences):
        task = dict.fromkeys(paraphrase_columns(sentences), "")
        for n, shown_row in enumerate(group, 1):
            task[f"id{n}"] = shown_row.example.id
            task[f"sentence{n}"] = shown_row.sentence
            task[f"data{n}"] = encode_cell(
                {
                    "sentence": shown_row.sentence,
                    "values": [_value_cell(value) for value in shown_row.values],
                }
            )
        yield task


def _value_cell(value: ShownValue) -> dict[str, Any]:
    """Return the data by which a page finds a value: its shown form, and its written forms."""
    ways = forms(value.stem, value.bare)
    if value.text[:1] in ('"', "@", "#") or len(ways) > _MOST_FORMS:
        return {"text": value.text, "forms": []}
    return {"text": value.text, "forms": sorted({"".join(way) for way in ways})}


# ------------------------------------------------------------------------------ validation


@dataclass(frozen=True, slots=True)
class VotableParaphrase:
    """A paraphrase that passed the checks and waits for votes: its id, and its text."""

    id: str
    typed: str


def validation_columns(sentences: int = SENTENCES) -> tuple[str, ...]:
    """Return the header of a batch of validation tasks.

    >>> validation_columns(1)
    ('id1', 'sentence1', 'paraphrases1', 'same1', 'different1', 'data1')
    """
    names = ("id", "sentence", "paraphrases", "same", "different", "data")
    return tuple(f"{name}{n + 1}" for n in range(sentences) for name in names)


def validation_tasks(
    rows: Sequence[ShownRow],
    candidates: Mapping[str, Sequence[VotableParaphrase]],
    *,
    sentences: int = SENTENCES,
    paraphrases: int = 6,
    seed: int = 0,
) -> Iterator[dict[str, str]]:
    """Yield tasks in which workers judge which paraphrases mean the same as the sentence.

    Among them stand two controls: the sentence itself, and another one that means something else.
    `paraphrasesN` holds the ids in the order shown, with `-` for the controls, whose places, from
    1, are in `sameN` and `differentN`; no page shows these columns.

    Args:
        rows: all rows that were shown, for the controls as well.
        candidates: row id -> its paraphrases; more than `paraphrases` become further tasks.
        paraphrases: of a sentence at most, without the controls.
        seed: of the shuffling; a sentence is shuffled alike wherever it stands.
    """
    sentence_groups = [
        (shown_row, part)
        for shown_row in rows
        for part in groups(candidates.get(shown_row.example.id, ()), paraphrases)
    ]
    others = _Others(rows)
    for group in groups(sentence_groups, sentences):
        task = dict.fromkeys(validation_columns(sentences), "")
        for n, (shown_row, part) in enumerate(group, 1):
            cells = _validation_cells(shown_row, part, others.unlike(shown_row, seed), seed)
            task.update({f"{name}{n}": cell for name, cell in cells.items()})
        yield task


def _validation_cells(
    shown_row: ShownRow, part: Sequence[VotableParaphrase], different: str, seed: int
) -> dict[str, str]:
    choices = [(candidate.id, candidate.typed) for candidate in part]
    choices += [("same", shown_row.sentence), ("different", different)]
    stream(seed, "validation", shown_row.example.id, *(c.id for c in part)).shuffle(choices)
    names = [name for name, _ in choices]
    texts = [text for _, text in choices]
    return {
        "id": shown_row.example.id,
        "sentence": shown_row.sentence,
        "paraphrases": " ".join("-" if n in ("same", "different") else n for n in names),
        "same": str(names.index("same") + 1),
        "different": str(names.index("different") + 1),
        "data": encode_cell({"sentence": shown_row.sentence, "choices": texts}),
    }


class _Others:
    """Finds sentences that surely mean something else: of other functions, of the same skill."""

    def __init__(self, rows: Iterable[ShownRow]):
        self.by_skill: dict[str, list[ShownRow]] = {}
        self.all: list[ShownRow] = []
        for shown_row in rows:
            self.all.append(shown_row)
            for skill in _skills_of_row(shown_row):
                self.by_skill.setdefault(skill, []).append(shown_row)

    def unlike(self, shown_row: ShownRow, seed: int) -> str:
        """Return a sentence none of whose functions are those of the row."""
        rng = stream(seed, "validation", "different", shown_row.example.id)
        of_same_skills = [
            row
            for skill in sorted(_skills_of_row(shown_row))
            for row in self.by_skill.get(skill, ())
        ]
        for pool in (of_same_skills, self.all):
            for _ in range(min(50, len(pool))):
                candidate = rng.choice(pool)
                if not set(candidate.example.functions) & set(shown_row.example.functions):
                    return candidate.sentence
        return _FAR[0] if shown_row.sentence != _FAR[0] else _FAR[1]


def _skills_of_row(shown_row: ShownRow) -> set[str]:
    return {function.rpartition(".")[0] for function in shown_row.example.functions}


# ------------------------------------------------------------------------------------- the stages


@dataclass(frozen=True, slots=True)
class TaskResult(Result):
    """A batch of tasks, and the notes on it."""

    output: str
    tasks: int
    sentences: int
    paraphrases: int
    note: str

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        yield self.note


_TASK_OUTPUT = OutputOption(
    "Where the batch goes, as CSV.",
    default="-",
    metavar="FILE|URL|-",
    overwrite="Replace the outputs.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParaphraseTasks(Stage):
    """Write paraphrase tasks for Mechanical Turk: the batch as CSV, and the page.

    CHOSEN is the output of `genie-dp data paraphrase select`. The page goes into the source view of
    a new project, the CSV is then published as a batch of it.

    \b
    genie-dp data paraphrase hits chosen.jsonl --output batch.csv --page task.html
    """

    command = "paraphrase hits"
    output = _TASK_OUTPUT

    chosen: str = setting(
        REQUIRED, "The rows to be shown.", value="rows", is_argument=True, metavar="CHOSEN"
    )
    config: TaskConfig = setting(TaskConfig(), "Sizes of the tasks.", value="settings")
    page: str | None = setting(None, "Where the page of the task goes.", metavar="HTML")

    def run(self, output: Output, *, progress: bool | None = None) -> TaskResult:
        """Write a batch of tasks in which workers paraphrase sentences.

        Raises:
            GenieError: an output that is there (Y022) or is an input (D027), two rows of one id
                (P008).
        """
        config = self.config
        refuse_overlap((output.target, self.page), [self.chosen])
        output.refuse_existing(self.page)
        rows = tuple(read_shown_by_id(self.chosen).values())
        batch = map(guard_sentences, paraphrase_tasks(rows, sentences=config.sentences))
        tasks = write_table(output.target, paraphrase_columns(config.sentences), batch)
        if self.page:
            page = paraphrase_page(
                sentences=config.sentences, paraphrases=config.paraphrases, config=DEFAULT
            )
            _write_page(self.page, page)
        total = len(rows) * config.workers * config.paraphrases
        note = (
            f"{tasks:,} tasks of {len(rows):,} sentences -> {_name(output)}; "
            f"with {config.workers} assignments per task they give {total:,} paraphrases"
        )
        return TaskResult(output.target, tasks, len(rows), total, note)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationTasks(Stage):
    """Write validation tasks: which paraphrases mean the same as the sentence?

    RESULTS are the results of the paraphrase batch, as Mechanical Turk exports them; those that
    pass the checks are put to the vote, among a sentence known to be the same and one known to
    differ.

    \b
    genie-dp data paraphrase validate-hits results.csv --chosen chosen.jsonl -o votes.csv
    """

    command = "paraphrase validate-hits"
    output = _TASK_OUTPUT

    results: tuple[str, ...] = setting(
        REQUIRED, "Results of paraphrase batches.", is_argument=True, metavar="RESULTS..."
    )
    chosen: str = setting(REQUIRED, "The rows that were shown.", metavar="CHOSEN")
    config: ValidationConfig = setting(
        ValidationConfig(), "Sizes of the tasks, and what is put to the vote.", value="settings"
    )
    page: str | None = setting(None, "Where the page of the task goes.", metavar="HTML")

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse limits that do not go together."""
        return self.config.conflict()

    def run(self, output: Output, *, progress: bool | None = None) -> TaskResult:
        """Write a batch of tasks in which workers vote on the texts of others.

        Raises:
            GenieError: as `Collect.run`.
        """
        config = self.config
        refuse_overlap((output.target, self.page), [*self.results, self.chosen])
        output.refuse_existing(self.page)
        rows = read_shown_by_id(self.chosen)
        collection = collect(answers_of(read_results(self.results), rows), rows, config)
        candidates: dict[str, list[VotableParaphrase]] = defaultdict(list)
        for judged in collection.accepted:
            answer = judged.answer
            candidates[answer.row].append(VotableParaphrase(answer.id, answer.typed))
        tasks = validation_tasks(
            tuple(rows.values()), candidates, sentences=config.sentences,
            paraphrases=config.paraphrases, seed=config.seed,
        )  # fmt: skip
        columns = validation_columns(config.sentences)
        count = write_table(output.target, columns, map(guard_sentences, tasks))
        if self.page:
            _write_page(self.page, validation_page(sentences=config.sentences))
        paraphrases = len(collection.accepted)
        note = (
            f"{count:,} tasks on {paraphrases:,} paraphrases of {len(candidates):,} sentences -> "
            f"{_name(output)}"
        )
        return TaskResult(output.target, count, len(candidates), paraphrases, note)


def _write_page(target: str, page: str) -> None:
    with open_text(target) as out:
        out.write(page)


def _name(output: Output) -> str:
    return "stdout" if output.target == "-" else output.target
