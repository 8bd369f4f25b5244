"""Settings of automatic paraphrases."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from genie_dp.recipe import check_settings, setting

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
OPTION_NAMES = {"rule_files": "rules"}


@dataclass(frozen=True, slots=True)
class ParaphraseConfig:
    """What makes paraphrases of rows, and how many; None is for what the method takes by itself."""

    by: str = setting(
        "rules",
        "rules: rewrites of English, some with other words as well; lexical: other words only; "
        "model: a Hugging Face model; endpoint: an OpenAI-compatible service.",
        choices=METHODS,
    )
    number: int = setting(3, "Paraphrases of each row, at most.", least=1, metavar="N")
    rule_files: tuple[Path, ...] = setting(
        (), "Rules of your own, beside the shipped ones.", metavar="FILE"
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
        None, "Text with {sentence} for a model, with {number} for an endpoint.", metavar="FILE"
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
    seed: int = setting(0, "The same rows and seed give the same bytes.")

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)

    def unfit(self) -> str | None:
        """Return what does not go with the method, or is missing for it; None if nothing."""
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
        return None


def _option(name: str) -> str:
    return f"--{OPTION_NAMES.get(name, name).replace('_', '-')}"
