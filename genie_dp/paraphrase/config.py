"""Settings of the steps of paraphrasing."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from genie_dp.errors import GenieError, Problem
from genie_dp.locale import DEFAULT, locale_from
from genie_dp.recipe import check_settings, setting, settings_of

METHODS = ("rules", "lexical", "model", "endpoint")
TYPED = ("model", "endpoint")  # those whose paraphrases are text as people type it

# setting -> the methods that it belongs to
_BELONGS: Mapping[str, tuple[str, ...]] = {
    "rule_files": ("rules",), "only_my_rules": ("rules",), "lexical_share": ("rules",),
    "all_results": ("rules",), "names": ("rules", "lexical"), "lexicon": ("rules", "lexical"),
    "model": TYPED, "prompt": TYPED, "temperature": TYPED, "any_language": TYPED,
    "device": ("model",), "batch_size": ("model",),
    "base_url": ("endpoint",), "key_variable": ("endpoint",), "per_prompt": ("endpoint",),
    "at_once": ("endpoint",), "per_minute": ("endpoint",), "retries": ("endpoint",),
    "price_in": ("endpoint",), "price_out": ("endpoint",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ParaphraseConfig:
    """The paraphraser of rows, and its number; None is for the default of the method."""

    by: str = setting(
        "rules",
        "rules: rewrites of English, some with other words as well; lexical: other words only; "
        "model: a Hugging Face model; endpoint: an OpenAI-compatible service.",
        choices=METHODS,
    )
    number: int = setting(3, "Paraphrases of each row, at most.", least=1, metavar="N")
    rule_files: tuple[Path, ...] = setting(
        (), "Rules of your own, beside the shipped ones.", option="rules", value="file of settings"
    )
    only_my_rules: bool = setting(False, "Leave the shipped rules out.")
    lexicon: str | None = setting(
        None,
        "Words of the same meaning: a TSV or PPDB file, WordNet through nltk, or none [shipped].",
        metavar="FILE|shipped|wordnet|none",
    )
    lexical_share: float | None = setting(
        None,
        "Share of the rewrites that get one or two other words as well [0.3].",
        least=0,
        most=1,
    )
    all_results: bool = setting(
        False, "Make questions of all rows: for S-expressions that all ask for something."
    )
    names: tuple[str, ...] = setting(
        (),
        "A node of S-expressions before a name, as in (property width): words of the name may "
        "change.",
        metavar="NODE",
    )
    model: str | None = setting(
        None,
        "A model of the Hugging Face hub or a local folder; of an endpoint, its name.",
        metavar="NAME|DIR",
    )
    prompt: Path | None = setting(
        None,
        "Text with {sentence} for a model, with {number} for an endpoint.",
        value="file of settings",
    )
    temperature: float | None = setting(None, "Of sampling [1.0; 0.9].", least=0, most=5)
    device: str | None = setting(None, "Of the model: cpu, cuda, cuda:1 .. [auto].", metavar="NAME")
    batch_size: int | None = setting(None, "Sentences a model gets at once [16].", least=1)
    base_url: str | None = setting(
        None, "Of the endpoint, such as http://localhost:8000/v1.", metavar="URL"
    )
    key_variable: str | None = setting(
        None,
        "Environment variable that holds the endpoint's key [OPENAI_API_KEY].",
        metavar="NAME",
    )
    per_prompt: int | None = setting(None, "Sentences of one prompt [8].", least=1)
    at_once: int | None = setting(None, "Requests at one time [4].", least=1)
    per_minute: float | None = setting(None, "Requests a minute, at most.", above=0)
    retries: int | None = setting(None, "Further tries of a request [6].", least=0)
    price_in: float | None = setting(
        None, "Price of a million tokens of prompts, for the report.", least=0
    )
    price_out: float | None = setting(None, "The same of answers.", least=0)
    copy_distance: float | None = setting(
        None,
        "Edits over length under which a paraphrase is a copy [0 for rules and words, else 0.1].",
        least=0,
        most=1,
    )
    duplicate_distance: float | None = setting(
        None, "The same for two paraphrases of a sentence.", least=0, most=1
    )
    any_language: bool = setting(False, "Do not ask a model or an endpoint for English.")
    locale: str = setting(
        DEFAULT, "Language of the sentences, or a file of its words.", value="locale"
    )
    seed: int = setting(0, "The same rows and seed give the same bytes.")

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all mistakes; N002 or R060, no such locale.
        """
        check_settings(self)
        locale_from(self.locale)

    @property
    def is_ours(self) -> bool:
        """Return whether the shipped rules, words and checks are of the language."""
        return locale_from(self.locale).words.has_grammar

    def conflict(self) -> str | None:
        """Return the conflict with the method, or the missing setting; None if there is neither."""
        by = self.by
        for name, methods in _BELONGS.items():
            if getattr(self, name) and by not in methods:
                return f"{_option(name)} goes with --by {' or '.join(methods)}, not {by}"
        for name in {"model": ("model",), "endpoint": ("model", "base_url")}.get(by, ()):
            if not getattr(self, name):
                return f"--by {by} needs {_option(name)}"
        if self.only_my_rules and not self.rule_files:
            return "--only-my-rules needs --rules"
        if by == "lexical" and self.lexicon == "none":
            return "--by lexical needs a --lexicon"
        return None if self.is_ours else self._unfit_of_locale()

    def _unfit_of_locale(self) -> str | None:
        """Return the settings that a language without shipped rules, words and prompts needs."""
        if self.by == "rules" and not self.only_my_rules:
            why = f"there are no rules of {self.locale!r}"
            return f"{why}: name your own by --rules FILE --only-my-rules, or --by endpoint"
        if self.lexicon in ("shipped", "wordnet") or (self.by == "lexical" and not self.lexicon):
            why = f"there are no words of {self.locale!r} of the same meaning"
            return f"{why}: name your own by --lexicon FILE"
        if self.by == "endpoint" and not self.prompt:
            return f"the shipped prompt asks for no {self.locale!r}: name your own by --prompt FILE"
        return None


def _option(name: str) -> str:
    option = settings_of(ParaphraseConfig)[name].option or name
    return f"--{option.replace('_', '-')}"


# ------------------------------------------------------------------------- choosing sentences

Sort = Literal["query", "action", "easy-pair", "mixed-pair", "other-pair", "triple"]


@dataclass(frozen=True, slots=True)
class SelectionRate:
    """How many sentences of a signature are chosen, and of which share of the signatures.

    >>> str(SelectionRate(50)), str(SelectionRate(1, 0.05))
    ('50', '5%')
    """

    count: int = 1
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.count < 0 or not 0 <= self.share <= 1:
            message = "expected count >= 0 and share in [0, 1], got"
            raise ValueError(f"{message} {self.count} and {self.share}")

    @classmethod
    def parse(cls, text: str) -> "SelectionRate":
        """Return `N` sentences of each signature, or one of `N%` of the signatures.

        Raises:
            GenieError: R040.
        """
        try:
            return cls(1, float(text[:-1]) / 100) if text.endswith("%") else cls(int(text))
        except ValueError:
            message = f"{text!r} is neither a number such as 20 nor a share such as 5%"
            raise GenieError(Problem("R040", message)) from None

    def __str__(self) -> str:
        return str(self.count) if self.share == 1 else f"{self.share * 100:g}%"


def _file(help: str, *, metavar: str = "FILE") -> Any:
    return setting(None, help, metavar=metavar, value="file of settings")


def _rate(default: SelectionRate, help: str, option: str) -> Any:
    return setting(default, help, option=option, metavar="N|%", parse=SelectionRate.parse)


@dataclass(frozen=True, slots=True)
class SelectConfig:
    """How many sentences of which signatures are chosen."""

    query: SelectionRate = _rate(
        SelectionRate(50),
        "Sentences of each query that stands alone, or a share such as 5% [50].",
        "per-query",
    )
    action: SelectionRate = _rate(
        SelectionRate(20), "The same of each action that stands alone [20].", "per-action"
    )
    easy_pair: SelectionRate = _rate(
        SelectionRate(10), "The same of each pair of two easy functions [10].", "easy-pairs"
    )
    mixed_pair: SelectionRate = _rate(
        SelectionRate(1),
        "The same of each pair of an easy and another function [1].",
        "mixed-pairs",
    )
    other_pair: SelectionRate = _rate(
        SelectionRate(1, 0.05), "The same of pairs without an easy function [5%].", "other-pairs"
    )
    triple: SelectionRate = _rate(
        SelectionRate(1, 0.10), "The same of three functions and more [10%].", "triples"
    )
    max_words: int | None = setting(30, "Leave out longer sentences.", least=1)
    unrelated: bool = setting(False, "Keep compounds whose functions have nothing in common.")
    subsets: tuple[str, ...] = setting(
        (),
        "Only rows whose templates belong to this subset of flagged templates [paraphrase].",
        metavar="NAME",
        option="subset",
    )
    easy: Path | None = _file("Functions that people understand.")
    hard: Path | None = _file("Functions that need an easy one beside them.")
    leave_out: Path | None = _file("Functions that are not asked for.")
    categories: Path | None = _file(
        "Skill or function, and a category: those that share one are related.", metavar="TSV"
    )
    constants: Path | None = _file("Example values: key, value and display.", metavar="TSV")
    seed: int = setting(0, "Of the choice and the values.")

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all mistakes.
        """
        check_settings(self)

    def rate(self, sort: Sort) -> SelectionRate:
        """Return the rate of a sort of signatures."""
        rate: SelectionRate = getattr(self, sort.replace("-", "_"))
        return rate


# ---------------------------------------------------------------------- tasks and their results


@dataclass(frozen=True, slots=True)
class TaskConfig:
    """How many sentences and paraphrases a task asks for (Genie, section 3.2)."""

    sentences: int = setting(4, "Sentences of a task.", least=1, most=20)
    paraphrases: int = setting(2, "Paraphrases that a worker writes of each.", least=1, most=5)
    workers: int = setting(3, "Workers who see each task; the batch has the setting.", least=1)

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all mistakes.
        """
        check_settings(self)


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """Limits of the checks of typed texts."""

    copy_distance: float = setting(
        0.1, "Edits over length under which a paraphrase is a copy.", least=0, most=1
    )
    duplicate_distance: float = setting(
        0.1, "The same for two paraphrases of a sentence.", least=0, most=1
    )
    any_language: bool = setting(False, "Do not ask for English.")
    language_model: bool = setting(False, "Ask py3langid about sentences with unknown words.")

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all mistakes.
        """
        check_settings(self)

    def conflict(self) -> str | None:
        """Return which settings do not go together; None if all do."""
        if self.any_language and self.language_model:
            return "--any-language and --language-model exclude each other"
        return None


@dataclass(frozen=True, slots=True)
class WorkerSettings(CheckSettings):
    """When a worker is not believed."""

    bad: int = setting(3, "A worker with so many bad paraphrases is rejected wholly ..", least=1)
    of: int = setting(8, ".. of so many; of more the same share.", least=1)

    def conflict(self) -> str | None:
        """Return which settings do not go together; None if all do."""
        if self.bad > self.of:
            return "--bad must not be more than --of"
        return CheckSettings.conflict(self)

    def is_bad(self, bad: int, written: int) -> bool:
        """Return whether a worker is rejected for bad paraphrases (Genie's tool: 3 of 8)."""
        return bad >= self.bad and bad * self.of >= self.bad * written


@dataclass(frozen=True, slots=True)
class CollectConfig(WorkerSettings):
    """Which paraphrases of workers are taken (Genie, section 3.2)."""

    threshold: int = setting(2, "Votes for `same` that a paraphrase needs.", least=1)
    wrong_controls: int = setting(
        2, "With so many wrong controls a worker's votes on a task do not count.", least=1
    )


@dataclass(frozen=True, slots=True)
class ValidationConfig(WorkerSettings):
    """How paraphrases are put to the vote."""

    sentences: int = setting(4, "Sentences of a task.", least=1, most=20)
    paraphrases: int = setting(6, "Paraphrases of a sentence in a task, at most.", least=1, most=20)
    seed: int = setting(0, "Of the order and the controls.")


@dataclass(frozen=True, slots=True)
class ServeConfig(CheckSettings):
    """The place of the page of tasks, and its requirements on workers."""

    port: int = setting(8808, "Of the page; 0 for any that is free.", least=0, most=65535)
    host: str = setting(
        "127.0.0.1",
        "Address to listen at; any but this machine's own lets others in, who need the address "
        "with its token.",
    )
    allow_hosts: tuple[str, ...] = setting(
        (),
        "A further name by which the page may be asked for, such as a proxy's.",
        metavar="NAME",
        option="allow-host",
    )
    worker: str | None = setting(
        None, "Whose page it is; otherwise it asks for a name.", metavar="NAME"
    )
    sentences: int | None = setting(
        None, "Sentences of a task; 4, or what the database has.", least=1, most=20
    )
    paraphrases: int | None = setting(
        None,
        "Paraphrases that a person writes of each; 2, or what the database has.",
        least=1,
        most=5,
    )
    workers: int = setting(3, "People who see each task.", least=1)
