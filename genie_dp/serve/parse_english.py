"""Descriptions of programs in English: made in a thread of its own and kept for the next time."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

_MOST = 1_000  # programs that are kept
_PATIENCE = 2.0  # seconds; an answer without English is better than none


class ProgramDescriber:
    """Describes programs in English for one event loop."""

    def __init__(
        self,
        describe: Callable[[str], str | None],
        *,
        most: int = _MOST,
        patience: float = _PATIENCE,
    ):
        """Keep the describer of programs; it is called by one thread only.

        Args:
            describe: from a program as people write it; None where it has no description.
            most: programs that are kept, those asked for last.
            patience: seconds for the programs of a request.
        """
        self._describe = describe
        self._most = most
        self._patience = patience
        self._known: OrderedDict[str, str | None] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, "english")

    async def describe_all(self, programs: Sequence[str]) -> tuple[str | None, ...]:
        """Return the description of each program; None where there is none, or not in time.

        Work that has begun is finished and kept, so that the next request has it.
        """
        with self._lock:
            sentences = {p: self._known[p] for p in programs if p in self._known}
            for program in sentences:
                self._known.move_to_end(program)
        missing = [p for p in dict.fromkeys(programs) if p not in sentences]
        loop = asyncio.get_running_loop()
        work = {p: loop.run_in_executor(self._pool, self._describe_one, p) for p in missing}
        try:
            if work:
                await asyncio.wait(work.values(), timeout=self._patience)
            sentences |= {p: future.result() for p, future in work.items() if future.done()}
        finally:
            for future in work.values():
                future.cancel()
        return tuple(sentences.get(program) for program in programs)

    def _describe_one(self, program: str) -> str | None:
        """Describe a program, in the thread, and keep it."""
        sentence = self._describe(program)
        with self._lock:
            self._known[program] = sentence
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return sentence

    def close(self) -> None:
        """End the thread after its current work."""
        self._pool.shutdown(wait=False, cancel_futures=True)
