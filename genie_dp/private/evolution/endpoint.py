"""Candidates from an OpenAI-compatible service, with its answers and costs.

It is sent `Prompt`s alone, which are made of metadata released with noise, donated examples
and earlier candidates (prompting.py); never a private row. The key comes from an environment
variable and is never written.
"""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from genie_dp.paraphrase.endpoint import Client, Message, Service, read_answer
from genie_dp.paraphrase.journal import Journal, Usage, key_of, open_journal
from genie_dp.private.evolution.config import EndpointRecipe
from genie_dp.private.evolution.prompting import Prompt

_TOKENS = 128  # of one answer
_MALFORMED_TRIES = 2
_SEVERAL = (
    "There are {count} tasks below. Do each by itself, and answer with one JSON object that has a "
    'list with one sentence for each number, such as {{"1": ["..."], "2": ["..."]}}.'
)


def open_endpoint(recipe: EndpointRecipe, work: Path) -> "Endpoint":
    """Return the service of a recipe, with its key from the environment.

    Args:
        recipe: which service it is.
        work: folder of the run, where answers are kept.

    Raises:
        GenieError: an address that is none, or a key that would travel unencrypted (P150).
    """
    service = Service(
        recipe.url, recipe.model, key=os.environ.get(recipe.key_variable, ""),
        temperature=recipe.temperature, most_tokens=_TOKENS * recipe.per_prompt,
        per_minute=recipe.per_minute,
    )  # fmt: skip
    # Answers are in the work folder, which is this run's alone: they are always gone on with.
    journal = open_journal(work / "answers.jsonl", resume=True, overwrite=False)
    return Endpoint(Client(service), journal, recipe)


@dataclass(slots=True)
class Endpoint:
    """A service that answers prompts; a Completer.

    Every answer goes into the journal before it is used, under a hash of all it depends on: a run
    that goes on with its journal asks for none twice.

    Attributes:
        client: asks, and tries again while that can help.
        journal: answers so far.
        recipe: prompts in a request, requests under way at one time, and prices.
        malformed: requests whose answer was not as asked for.
    """

    client: Client
    journal: Journal
    recipe: EndpointRecipe
    malformed: int = 0

    @property
    def name(self) -> str:
        """Return which service answers."""
        return f"endpoint:{self.client.service.model}"

    @property
    def usage(self) -> Usage:
        """Return the usage of all answers in the journal."""
        return self.journal.before + self.journal.now

    def report(self) -> dict[str, float | int]:
        """Return usage and cost of the answers: of this run, and with those before."""
        usage, recipe = self.usage, self.recipe
        cost = usage.prompt_tokens * recipe.prompt_price + usage.answer_tokens * recipe.answer_price
        return {
            "requests": usage.requests,
            "prompt_tokens": usage.prompt_tokens,
            "answer_tokens": usage.answer_tokens,
            "requests_of_this_run": self.journal.now.requests,
            "tried_again": self.client.retried,
            "malformed": self.malformed,
            "cost": round(cost / 1e6, 6),
        }

    def fingerprint(self) -> str:
        """Return a hash of the model and how it is asked; a service may change unseen."""
        service = self.client.service
        # Not of its address: the same model may be served elsewhere tomorrow.
        parts = (service.model, service.temperature, self.recipe.per_prompt)
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
        size = self.recipe.per_prompt
        batches = [missing[start : start + size] for start in range(0, len(missing), size)]
        with ThreadPoolExecutor(self.recipe.at_once) as pool:
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
