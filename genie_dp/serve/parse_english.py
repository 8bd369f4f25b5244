"""What programs do, in English: made in a thread of its own and kept for the next time."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

_MOST = 1_000  # programs that are kept
_PATIENCE = 2.0  # seconds; an answer without English is better than none


class English:
    """Says programs in English for one event loop."""

    def __init__(
        self,
        describe: Callable[[str], str | None],
        *,
        most: int = _MOST,
        patience: float = _PATIENCE,
    ):
        """Keep what describes a program; it is called by one thread only.

        Args:
            describe: from a program as people write it; None where it cannot be said.
            most: programs that are kept, those asked for last.
            patience: seconds for the programs of a request.
        """
        self._describe = describe
        self._most = most
        self._patience = patience
        self._known: OrderedDict[str, str | None] = OrderedDict()
        self._pool = ThreadPoolExecutor(1, "english")

    async def of(self, programs: Sequence[str]) -> tuple[str | None, ...]:
        """Return what each program does; None for what cannot be said, or not in time."""
        missing = [p for p in dict.fromkeys(programs) if p not in self._known]
        loop = asyncio.get_running_loop()
        work = {p: loop.run_in_executor(self._pool, self._describe, p) for p in missing}
        try:
            if work:
                await asyncio.wait(work.values(), timeout=self._patience)
            found = {p: future.result() for p, future in work.items() if future.done()}
        finally:
            for future in work.values():
                future.cancel()
        said = tuple(found[p] if p in found else self._known.get(p) for p in programs)
        self._keep(programs, found)
        return said

    def _keep(self, programs: Sequence[str], found: dict[str, str | None]) -> None:
        for program in programs:
            if program in self._known:
                self._known.move_to_end(program)
        self._known.update(found)
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def close(self) -> None:
        """End the thread after what it does now."""
        self._pool.shutdown(wait=False, cancel_futures=True)
