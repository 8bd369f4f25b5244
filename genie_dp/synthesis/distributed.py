"""Blocks from a Dask cluster: the same as from here, for a block is a function of its number.

Workers need not see the coordinator's disk. The texts of all inputs travel; each worker process
lays them out in a temporary folder, builds its engine from them once, and compares it with the
coordinator's. A worker that dies has its blocks made again by another: Dask sees to that.
"""

import asyncio
import logging
import os
import pickle
import platform
import tempfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

import xxhash

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem, with_article
from genie_dp.synthesis.blocks import EncodedBlock, make_block
from genie_dp.synthesis.engine import SynthesisEngine
from genie_dp.synthesis.pieces import Piece

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 5
# After so long without a block the coordinator looks whether there are workers at all.
PATIENCE_SECONDS = 30
# In flight: one block a thread in the making, one waiting, and some that came before their turn.
PER_THREAD, LEAST = 3, 4

Place = Callable[[Path], Path]
"""A path of the coordinator -> where it lies on the worker."""


@dataclass(frozen=True, slots=True)
class ParcelText:
    """A file that was read: its name then, its path, the target of its links, and its content."""

    name: str
    path: str
    real: str
    content: str


@dataclass(frozen=True, slots=True)
class Parcel:
    """All that a worker needs to build the engine.

    Attributes:
        texts: the files.
        build: builds the engine of files at other places; travels as a name, so it must be a
            function of a module.
        mark: that of the coordinator's engine (see `mark_of`).
    """

    texts: tuple[ParcelText, ...]
    build: Callable[[Place], SynthesisEngine]
    mark: str


def parcel_of(
    sources: Mapping[str, str], build: Callable[[Place], SynthesisEngine], engine: SynthesisEngine
) -> Parcel:
    """Return the parcel of an engine that was built from these texts (file -> content)."""
    texts = tuple(
        ParcelText(name, os.path.abspath(name), os.path.realpath(name), content)
        for name, content in sources.items()
    )
    return Parcel(texts, build, mark_of(engine))


def mark_of(engine: SynthesisEngine) -> str:
    """Return a hash of all that an engine draws from; equal ones make equal blocks.

    It reflects differences that no version shows: another release of the inflection library,
    another rounding of quotas.
    """
    digest = xxhash.xxh3_128()
    plan = engine.plan
    for numbers in (plan.ends, plan.sizes, plan.keys, plan.turns, plan.starts, plan.rule_keys):
        digest.update(numbers.tobytes())
    for cell in engine.plan.cells:
        digest.update(f"{cell.rule.template.id}\0{cell.wording.text}\0{cell.depth}\n".encode())
    for name in sorted(engine.pools.levels):
        for level in engine.pools.levels[name]:
            digest.update(_mark_of_pieces(level))
    # Their names have the paths of tables, so the order is that of what is in them.
    for mark in sorted(map(_mark_of_pieces, engine.pools.leaves.values())):
        digest.update(mark)
    return digest.hexdigest()


def _mark_of_pieces(pieces: Sequence[Piece]) -> bytes:
    digest = xxhash.xxh3_128()
    for piece in pieces:
        digest.update(f"{piece.text}\0{piece.value.text}\0{piece.derivation}\n".encode())
    return digest.digest()


# ------------------------------------------------------------------------------ coordinator


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """Connect to the scheduler at an address and yield the client.

    Raises:
        GenieError: Dask is not installed (Y050), no scheduler answers there (Y051), or a worker has
            no genie_dp or another version of it (Y052).
    """
    distributed = _import_distributed()
    _check_scheduler(address)
    with distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False) as client:
        problems = [
            _mismatch(worker, version, __version__)
            for worker, version in sorted(client.run(_version()).items())
            if version != __version__
        ]
        if problems:
            raise GenieError(problems)
        yield client


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        hint = "pip install 'genie_dp[distributed]'"
        raise GenieError(Problem("Y050", "a cluster needs Dask", hint=hint)) from None
    return distributed


def _check_scheduler(address: str) -> None:
    """Ask who is there: a client that cannot connect would take ten seconds more to give up."""
    try:
        identity = asyncio.run(asyncio.wait_for(_identity(address), CONNECT_SECONDS))
        answer = f"{with_article(identity['type'])} is there"
    except TimeoutError:
        identity, answer = {}, f"no answer in {CONNECT_SECONDS} seconds"
    except Exception as error:  # noqa: BLE001 - what strangers answer can be anything
        identity, answer = {}, str(error).partition("\n")[0] or type(error).__name__
    if identity.get("type") != "Scheduler":
        message = f"no Dask scheduler answers at {address!r}: {answer}"
        hint = "start one with `dask scheduler`; it prints its address, such as tcp://host:8786"
        raise GenieError(Problem("Y051", message, hint=hint))


async def _identity(address: str) -> Any:
    distributed = _import_distributed()
    security = distributed.Security().get_connection_args("client")
    async with distributed.rpc(address, connection_args=security) as there:
        return await there.identity()


def _version() -> Callable[[], str | None]:
    """Return a function that travels as code: a worker without genie_dp can run it, too."""

    def version() -> str | None:
        try:
            from genie_dp import __version__ as found
        except ImportError:
            return None
        return found

    return version


def _mismatch(worker: str, version: str | None, expected: str) -> Problem:
    has = f"has genie_dp {version}" if version else "has no genie_dp"
    message = f"the worker {worker} {has}, the coordinator {expected}"
    return Problem("Y052", message, hint=f"install genie_dp {expected} there and start it again")


def remote_blocks(
    client: Any, parcel: Parcel, numbers: Sequence[int], *, format: str
) -> Iterator[EncodedBlock]:
    """Yield the blocks in order, made by the workers of a cluster.

    A bounded number is requested ahead, by the number of threads that the cluster has at the time.

    Raises:
        GenieError: as making a block here; a block that ends its workers (Y053); the scheduler went
            away (Y054); a worker builds another engine of the same inputs (Y055).
    """
    packed = zlib.compress(pickle.dumps(parcel))
    # A task and not scattered data: it is made again when the worker that holds it dies.
    parcel_task = client.submit(bytes, packed, pure=False)
    work = _traveller()
    rest = iter(numbers)
    flying: deque[tuple[int, Any]] = deque()
    while True:
        window = max(LEAST, PER_THREAD * sum(client.nthreads().values()))
        for number in islice(rest, max(0, window - len(flying))):
            block_task = client.submit(
                work, __version__, parcel_task, number, format, pure=False, priority=-number
            )
            flying.append((number, block_task))
        if not flying:
            return
        yield _take_block(client, *flying.popleft())


def _traveller() -> Callable[..., EncodedBlock | GenieError]:
    """Return `_work` as a function that travels as code: the scheduler needs no genie_dp.

    Its types travel with it, so they must not be ours.
    """

    def work(*arguments: Any) -> Any:
        from importlib import import_module

        return import_module("genie_dp.synthesis.distributed")._work(*arguments)

    return work


def _take_block(client: Any, number: int, task: Any) -> EncodedBlock:
    """Return the block of a future, waiting for it."""
    distributed = _import_distributed()
    try:
        _wait(client, task)
        result: EncodedBlock | GenieError = task.result()
    except distributed.KilledWorker:
        hint = "were they short of memory? give them more, and go on with --resume"
        message = f"block {number} ended every worker that made it"
        raise GenieError(Problem("Y053", message, hint=hint)) from None
    except ImportError as error:
        if not (error.name or "").startswith("genie_dp"):
            raise
        raise GenieError(_mismatch("that came later", None, __version__)) from None
    except (CancelledError, OSError):
        hint = "start the cluster again, and go on with --resume"
        raise GenieError(Problem("Y054", "the Dask scheduler went away", hint=hint)) from None
    if isinstance(result, GenieError):
        raise result
    return result


def _wait(client: Any, task: Any) -> None:
    while True:
        try:
            with client.as_current():
                _import_distributed().wait([task], timeout=PATIENCE_SECONDS)
        except TimeoutError:
            if not client.nthreads():
                logger.warning("the cluster has no worker; waiting for one (Ctrl-C stops)")
        else:
            return


# ----------------------------------------------------------------------------------- worker

# Blocks count what they drop on the engine, so two threads of a process must not make any at once.
_ALONE = Lock()


def _work(version: str, packed: bytes, number: int, format: str) -> EncodedBlock | GenieError:
    """Return a block, or the user's mistake; bugs are raised and keep their traceback."""
    try:
        if version != __version__:
            raise GenieError(_mismatch(_name_of_worker(), __version__, version))
        with _ALONE:
            built = _build_once(packed)
            with built.names.given_back():
                return make_block(built.engine, number, format=format)
    except GenieError as error:
        # Causes stay here: they may be of classes that only the user's files define.
        return GenieError(error.problems, sources=error.sources)


def _name_of_worker() -> str:
    return f"{platform.node()} (process {os.getpid()})"


@dataclass(frozen=True, slots=True)
class _FileNames:
    """The coordinator's names of files in a folder of this machine."""

    folder: str
    known: Mapping[str, str]

    @contextmanager
    def given_back(self) -> Iterator[None]:
        """Put the coordinator's file names into an error."""
        try:
            yield
        except GenieError as error:
            sources = {self._name(file): text for file, text in error.sources.items()}
            problems = [self._rename(problem) for problem in error.problems]
            raise GenieError(problems, sources=sources) from error

    def _rename(self, problem: Problem) -> Problem:
        span = problem.span and replace(problem.span, file=self._name(problem.span.file))
        return replace(problem, span=span, message=problem.message.replace(self.folder, ""))

    def _name(self, file: str) -> str:
        return self.known.get(file, file.removeprefix(self.folder))


@dataclass(frozen=True, slots=True)
class _BuiltEngine:
    engine: SynthesisEngine
    names: _FileNames


@lru_cache(maxsize=1)  # an engine takes hundreds of megabytes; blocks of one run come together
def _build_once(packed: bytes) -> _BuiltEngine:
    """Return the engine of a parcel: built by the first block of a run in this process."""
    parcel: Parcel = pickle.loads(zlib.decompress(packed))
    with tempfile.TemporaryDirectory(prefix="genie-dp-") as name:
        folder = Path(name).resolve()
        names = _lay_out(parcel.texts, folder)
        with names.given_back():
            engine = parcel.build(lambda path: _path_below(folder / "given", os.path.abspath(path)))
    if mark_of(engine) != parcel.mark:
        message = f"the worker {_name_of_worker()} builds another engine from the same inputs"
        hint = "install the same code and the same libraries there (constraints.txt lists them)"
        raise GenieError(Problem("Y055", message, hint=hint))
    return _BuiltEngine(engine, names)


def _lay_out(texts: Sequence[ParcelText], folder: Path) -> _FileNames:
    """Write the files as they lie to each other, links as links: ids depend on the targets."""
    names = {}
    for text in texts:
        real, given_path = (
            _path_below(folder / "real", text.real),
            _path_below(folder / "given", text.path),
        )
        for path in (real, given_path):
            path.parent.mkdir(parents=True, exist_ok=True)
        real.write_text(text.content, encoding="utf-8", newline="\n")
        given_path.symlink_to(real)
        names[str(given_path)] = text.name
    return _FileNames(str(folder / "given"), names)


def _path_below(folder: Path, path: str) -> Path:
    return folder.joinpath(*Path(path).parts[1:])
