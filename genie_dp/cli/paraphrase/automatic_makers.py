"""From the options of `paraphrase auto` to what makes the paraphrases."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.paraphrase.auto import AutoConfig, Paraphraser
from genie_dp.paraphrase.auto_journal import Journal, Usage, open_journal
from genie_dp.paraphrase.auto_rules import Results, RuleParaphraser
from genie_dp.paraphrase.checks import CheckConfig
from genie_dp.paraphrase.english_share import LanguageCheck
from genie_dp.paraphrase.lexical import Lexicon
from genie_dp.paraphrase.lexical_files import read_lexicon, shipped_lexicon
from genie_dp.paraphrase.rules_engine import RuleSet, rule_set, shipped_files
from genie_dp.paraphrase.rules_syntax import parse_rules
from genie_dp.run.files import local_target
from genie_dp.texts import read_text

SHIPPED = ("none", "shipped", "wordnet")  # lexicons that are no files
KEY_VARIABLE = "OPENAI_API_KEY"
_TOKENS, _LEAST_TOKENS = 100, 1024  # of an answer: for each paraphrase, and at least
_TYPED_DISTANCE = 0.1  # as for crowd workers

# option -> the methods that it belongs to
_BELONGS: Mapping[str, tuple[str, ...]] = {
    "rule_files": ("rules",), "only_my_rules": ("rules",), "lexical_share": ("rules",),
    "all_results": ("rules",), "names": ("rules", "lexical"),
    "lexicon": ("rules", "lexical"),
    "model": ("model", "endpoint"), "prompt": ("model", "endpoint"),
    "temperature": ("model", "endpoint"), "answers": ("model", "endpoint"),
    "resume": ("model", "endpoint"), "device": ("model",), "batch_size": ("model",),
    "base_url": ("endpoint",), "key_variable": ("endpoint",), "per_prompt": ("endpoint",),
    "at_once": ("endpoint",), "per_minute": ("endpoint",), "retries": ("endpoint",),
    "price_in": ("endpoint",), "price_out": ("endpoint",),
    "any_language": ("model", "endpoint"),
}  # fmt: skip


def check_options(options: Mapping[str, Any]) -> None:
    """Raise UsageError for options of another method, and for some that are missing."""
    by = options["by"]
    for name, methods in _BELONGS.items():
        if options[name] and by not in methods:
            shown = "--rules" if name == "rule_files" else f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{shown} goes with --by {' or '.join(methods)}, not {by}")
    if options["jobs"] > 1 and by in ("model", "endpoint"):
        raise click.UsageError(f"--jobs does not go with --by {by}; see --batch-size, --at-once")
    for name in {"model": ("model",), "endpoint": ("model", "base_url")}.get(by, ()):
        if not options[name]:
            raise click.UsageError(f"--by {by} needs --{name.replace('_', '-')}")
    if options["only_my_rules"] and not options["rule_files"]:
        raise click.UsageError("--only-my-rules needs --rules")
    if by == "lexical" and options["lexicon"] == "none":
        raise click.UsageError("--by lexical needs a --lexicon")


def config_of(options: Mapping[str, Any]) -> AutoConfig:
    """Return what is wanted, and the limits of the checks."""
    typed = options["by"] in ("model", "endpoint")
    usual = _TYPED_DISTANCE if typed else 0.0
    near = {
        name: usual if options[name] is None else float(options[name])
        for name in ("copy_distance", "duplicate_distance")
    }
    checks = CheckConfig(
        copy_distance=near["copy_distance"],
        duplicate_distance=near["duplicate_distance"],
        language=LanguageCheck() if typed and not options["any_language"] else None,
    )
    return AutoConfig(options["number"], checks)


def journal_of(options: Mapping[str, Any]) -> Journal:
    """Return the journal of answers; in memory for rules, and for outputs that are no files."""
    target = local_target(options["output"])
    name = options["answers"] or (f"{target}.answers.jsonl" if target else None)
    if options["by"] not in ("model", "endpoint") or name is None:
        return Journal(None)
    return open_journal(Path(name), resume=options["resume"], overwrite=options["overwrite"])


def paraphraser_of(options: Mapping[str, Any], journal: Journal) -> Paraphraser:
    """Return what makes the paraphrases.

    Raises:
        GenieError: mistakes in rules, lexicon, prompt, model or address.
    """
    makers: Mapping[str, Callable[[Mapping[str, Any], Journal], Paraphraser]] = {
        "rules": _by_rules,
        "lexical": _by_words,
        "model": _by_model,
        "endpoint": _by_endpoint,
    }
    return makers[options["by"]](options, journal)


def _by_rules(options: Mapping[str, Any], journal: Journal) -> Paraphraser:
    share = 0.3 if options["lexical_share"] is None else options["lexical_share"]
    lexicon = _lexicon(options["lexicon"] or "shipped")
    results: Results = "all" if options["all_results"] else "program"
    return RuleParaphraser(
        _rules(options), lexicon, options["number"], share, options["seed"], results,
        frozenset(options["names"]),
    )  # fmt: skip


def _by_words(options: Mapping[str, Any], journal: Journal) -> Paraphraser:
    lexicon = _lexicon(options["lexicon"] or "shipped")
    names = frozenset(options["names"])
    return RuleParaphraser(None, lexicon, options["number"], seed=options["seed"], names=names)


def _rules(options: Mapping[str, Any]) -> RuleSet:
    own = [parse_rules(read_text(path), str(path)) for path in options["rule_files"]]
    return rule_set(*(() if options["only_my_rules"] else shipped_files()), *own)


def _lexicon(name: str) -> Lexicon | None:
    match name:
        case "none":
            return None
        case "shipped":
            return shipped_lexicon()
        case "wordnet":
            from genie_dp.paraphrase.lexical_wordnet import wordnet_lexicon

            return wordnet_lexicon()
        case _:
            return read_lexicon(name)


def _by_model(options: Mapping[str, Any], journal: Journal) -> Paraphraser:
    from genie_dp.paraphrase.model import ModelConfig, ModelParaphraser, load_model

    given = _given(options, "model", "device", "batch_size", "temperature")
    prompt = read_text(options["prompt"]) if options["prompt"] else ""
    config = ModelConfig(**given, prompt=prompt, seed=options["seed"])
    return ModelParaphraser(config, load_model(config), journal, options["number"])


def _by_endpoint(options: Mapping[str, Any], journal: Journal) -> Paraphraser:
    from genie_dp.paraphrase.endpoint import PER_PROMPT, EndpointParaphraser, shipped_prompt
    from genie_dp.paraphrase.endpoint_client import Client, Service

    given = _given(options, "base_url", "model", "temperature", "retries", "per_minute")
    key = os.environ.get(options["key_variable"] or KEY_VARIABLE, "")
    prompt = read_text(options["prompt"]) if options["prompt"] else shipped_prompt()
    sentences = options["number"] * (options["per_prompt"] or PER_PROMPT)
    service = Service(**given, key=key, most_tokens=max(_LEAST_TOKENS, _TOKENS * sentences))
    return EndpointParaphraser(
        Client(service),
        journal,
        prompt,
        options["number"],
        **_given(options, "per_prompt", "at_once"),
    )


def _given(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: options[name] for name in names if options[name] is not None}


def usage_of(options: Mapping[str, Any], usage: Usage) -> dict[str, Any]:
    """Return what answers took, for the report; the cost where prices are given."""
    found: dict[str, Any] = {
        "requests": usage.requests,
        "prompt_tokens": usage.prompt_tokens,
        "answer_tokens": usage.answer_tokens,
    }
    if options["price_in"] is not None or options["price_out"] is not None:
        cost = usage.prompt_tokens * (options["price_in"] or 0)
        cost += usage.answer_tokens * (options["price_out"] or 0)
        found["cost"] = round(cost / 1e6, 6)
    return found
