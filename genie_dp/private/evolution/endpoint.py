"""Candidates from an OpenAI-compatible service: what it is sent, what is kept, and what it costs.

What is sent are `Prompt`s alone, which are made of metadata released with noise, donated examples
and earlier candidates (prompting.py); never a private row. The key comes from an environment
variable and is never written.
"""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from genie_dp.paraphrase.endpoint import Client, Message, Service, read_answer
from genie_dp.paraphrase.journal import Journal, Usage, key_of
from genie_dp.private.evolution.prompting import Prompt

KEY_VARIABLE = "OPENAI_API_KEY"
_TOKENS = 128  # of one answer
_MALFORMED_TRIES = 2
_SEVERAL = (
    "There are {count} tasks below. Do each by itself, and answer with one JSON object that has a "
    'list with one sentence for each number, such as {{"1": ["..."], "2": ["..."]}}.'
)


def service_of(
    base_url: str,
    model: str,
    *,
    key_variable: str = KEY_VARIABLE,
    temperature: float = 1.0,
    per_minute: float = 0.0,
    per_prompt: int = 1,
) -> Service:
    """Return a service, with its key from the environment.

    Raises:
        GenieError: an address that is none, or a key that would travel unencrypted (P150).
    """
    return Service(
        base_url, model, key=os.environ.get(key_variable, ""), temperature=temperature,
        most_tokens=_TOKENS * per_prompt, per_minute=per_minute,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prices:
    """What a service takes for a million tokens of prompts, and of answers."""

    prompt: float = 0.0
    answer: float = 0.0

    def __post_init__(self) -> None:
        if min(self.prompt, self.answer) < 0:
            raise ValueError(f"prices must be at least 0, got {self}")

    def price(self, usage: Usage) -> float:
        """Return what answers cost.

        >>> Prices(2.0, 8.0).price(Usage(10, 500_000, 250_000))
        3.0
        """
        cost = self.prompt * usage.prompt_tokens + self.answer * usage.answer_tokens
        return cost / 1e6


@dataclass(slots=True)
class Endpoint:
    """A service that answers prompts; a Completer.

    Every answer goes into the journal before it is used, under a hash of all it depends on: a run
    that goes on with its journal asks for none twice.

    Attributes:
        client: asks, and tries again while that can help.
        journal: answers so far.
        prices: of tokens.
        per_prompt: prompts that go into one request, for fewer tokens of instructions.
        at_once: requests under way at one time.
        malformed: requests whose answer was not as asked for.
    """

    client: Client
    journal: Journal
    prices: Prices = Prices()
    per_prompt: int = 1
    at_once: int = 4
    malformed: int = 0

    def __post_init__(self) -> None:
        if self.per_prompt < 1 or self.at_once < 1:
            raise ValueError("per_prompt and at_once must be at least 1")

    @property
    def name(self) -> str:
        """Return which service answers."""
        return f"endpoint:{self.client.service.model}"

    @property
    def usage(self) -> Usage:
        """Return what all answers of the journal took."""
        return self.journal.before + self.journal.now

    @property
    def cost(self) -> float:
        """Return what all answers of the journal cost."""
        return self.prices.price(self.usage)

    def fingerprint(self) -> str:
        """Return a hash of the model and how it is asked; a service may change unseen."""
        service = self.client.service
        # Not of its address: the same model may be served elsewhere tomorrow.
        parts = (service.model, service.temperature, self.per_prompt)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def complete(self, prompts: Sequence[Prompt], draws: Sequence[str]) -> list[str]:
        """Return one answer to each prompt; see Completer.

        Raises:
            GenieError: the service refuses (P151) or does not answer (P152); what was answered
                before is in the journal.
        """
        service = self.client.service
        keys = [
            key_of(
                "evolution", prompt.system, prompt.text, draw, service.model, service.temperature
            )
            for prompt, draw in zip(prompts, draws, strict=True)
        ]
        prompt_of = dict(zip(keys, prompts, strict=True))
        missing = [
            (key, prompt) for key, prompt in prompt_of.items() if key not in self.journal.answers
        ]
        size = self.per_prompt
        batches = [missing[start : start + size] for start in range(0, len(missing), size)]
        with ThreadPoolExecutor(self.at_once) as pool:
            try:
                for malformed in pool.map(self._ask, batches):
                    self.malformed += malformed
            except BaseException:
                self.client.stop()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return [self.journal.answers[key][0] for key in keys]

    def _ask(self, batch: Sequence[tuple[str, Prompt]]) -> int:
        """Have prompts answered, keep the answers, and return how many requests were no use."""
        if len(batch) == 1:
            [(key, prompt)] = batch
            answer = self.client.ask(_messages(prompt))
            self.journal.add({key: (answer.text,)}, answer.usage)
            return 0
        prompts = [prompt for _, prompt in batch]
        tasks = [f"Task {number}:\n{prompt.text}" for number, prompt in enumerate(prompts, 1)]
        text = "\n\n".join((_SEVERAL.format(count=len(prompts)), *tasks))
        messages = _messages(Prompt(text, prompts[0].system))  # all have one system text
        usage = Usage()
        for tries in range(_MALFORMED_TRIES):
            answer = self.client.ask(messages)
            usage += answer.usage
            texts_by_prompt = read_answer(answer.text, len(batch))
            if texts_by_prompt is not None:
                pairs = zip(batch, texts_by_prompt, strict=True)
                self.journal.add({key: (texts or ("",))[:1] for (key, _), texts in pairs}, usage)
                return tries
        self.journal.add({}, usage)
        return _MALFORMED_TRIES + sum(self._ask([prompt_with_key]) for prompt_with_key in batch)


def _messages(prompt: Prompt) -> list[Message]:
    turns = [("system", prompt.system), ("user", prompt.text)]
    return [{"role": role, "content": text} for role, text in turns if text]


def report_of(endpoint: Endpoint) -> dict[str, float | int]:
    """Return what answers took and cost, for a report: of this run, and with those before."""
    return {
        "requests": endpoint.usage.requests,
        "prompt_tokens": endpoint.usage.prompt_tokens,
        "answer_tokens": endpoint.usage.answer_tokens,
        "requests_of_this_run": endpoint.journal.now.requests,
        "tried_again": endpoint.client.retried,
        "malformed": endpoint.malformed,
        "cost": round(endpoint.cost, 6),
    }
