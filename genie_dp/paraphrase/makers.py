"""From settings to what makes the paraphrases."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from genie_dp.paraphrase.auto import Paraphraser
from genie_dp.paraphrase.auto_journal import Journal
from genie_dp.paraphrase.auto_rules import Results, RuleParaphraser
from genie_dp.paraphrase.checks import CheckConfig
from genie_dp.paraphrase.config import TYPED, ParaphraseConfig
from genie_dp.paraphrase.english_share import LanguageCheck
from genie_dp.paraphrase.lexical_files import lexicon_named
from genie_dp.paraphrase.rules_engine import RuleSet, rule_set, shipped_files
from genie_dp.paraphrase.rules_syntax import parse_rules
from genie_dp.texts import read_text

KEY_VARIABLE = "OPENAI_API_KEY"
_TOKENS, _LEAST_TOKENS = 100, 1024  # of an answer: for each paraphrase, and at least
_TYPED_DISTANCE = 0.1  # as for crowd workers


def checks_of(config: ParaphraseConfig) -> CheckConfig:
    """Return the limits of the checks."""
    typed = config.by in TYPED
    usual = _TYPED_DISTANCE if typed else 0.0
    copy, duplicate = config.copy_distance, config.duplicate_distance
    return CheckConfig(
        copy_distance=usual if copy is None else copy,
        duplicate_distance=usual if duplicate is None else duplicate,
        language=LanguageCheck() if typed and not config.any_language else None,
    )


def paraphraser_of(config: ParaphraseConfig, journal: Journal) -> Paraphraser:
    """Return what makes the paraphrases.

    Raises:
        GenieError: mistakes in rules, lexicon, prompt, model or address.
    """
    makers: Mapping[str, Callable[[ParaphraseConfig, Journal], Paraphraser]] = {
        "rules": _by_rules,
        "lexical": _by_words,
        "model": _by_model,
        "endpoint": _by_endpoint,
    }
    return makers[config.by](config, journal)


def _by_rules(config: ParaphraseConfig, journal: Journal) -> Paraphraser:
    share = 0.3 if config.lexical_share is None else config.lexical_share
    lexicon = lexicon_named(config.lexicon or "shipped")
    results: Results = "all" if config.all_results else "program"
    return RuleParaphraser(
        _rules(config), lexicon, config.number, share, config.seed, results,
        frozenset(config.names),
    )  # fmt: skip


def _by_words(config: ParaphraseConfig, journal: Journal) -> Paraphraser:
    lexicon = lexicon_named(config.lexicon or "shipped")
    names = frozenset(config.names)
    return RuleParaphraser(None, lexicon, config.number, seed=config.seed, names=names)


def _rules(config: ParaphraseConfig) -> RuleSet:
    own = [parse_rules(read_text(path), str(path)) for path in config.rule_files]
    return rule_set(*(() if config.only_my_rules else shipped_files()), *own)


def _by_model(config: ParaphraseConfig, journal: Journal) -> Paraphraser:
    from genie_dp.paraphrase.model import ModelConfig, ModelParaphraser, load_model

    given = _given(config, "model", "device", "batch_size", "temperature")
    prompt = read_text(config.prompt) if config.prompt else ""
    model = ModelConfig(**given, prompt=prompt, seed=config.seed)
    return ModelParaphraser(model, load_model(model), journal, config.number)


def _by_endpoint(config: ParaphraseConfig, journal: Journal) -> Paraphraser:
    from genie_dp.paraphrase.endpoint import PER_PROMPT, EndpointParaphraser, shipped_prompt
    from genie_dp.paraphrase.endpoint_client import Client, Service

    given = _given(config, "base_url", "model", "temperature", "retries", "per_minute")
    key = os.environ.get(config.key_variable or KEY_VARIABLE, "")
    prompt = read_text(config.prompt) if config.prompt else shipped_prompt()
    sentences = config.number * (config.per_prompt or PER_PROMPT)
    service = Service(**given, key=key, most_tokens=max(_LEAST_TOKENS, _TOKENS * sentences))
    return EndpointParaphraser(
        Client(service),
        journal,
        prompt,
        config.number,
        **_given(config, "per_prompt", "at_once"),
    )


def _given(config: ParaphraseConfig, *names: str) -> dict[str, Any]:
    values = {name: getattr(config, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
