"""Blocks made by several processes and yielded in order."""

import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import Queue
from threading import Thread
from typing import Any, TypeVar

from genie_dp.errors import GenieError, Problem

Block = TypeVar("Block")
Maker = Callable[[Sequence[int]], Iterator[Block]]
"""Makes blocks of these numbers, in this order."""


def in_processes(make: Maker[Block], numbers: Sequence[int], jobs: int) -> Iterator[Block]:
    """Yield the blocks of `numbers`, in order, made by `jobs` forked workers.

    Worker i makes every jobs-th block. What `make` closes over is inherited, not copied.

    Raises:
        GenieError: a worker was killed (Y012). Other exceptions of a worker are raised again.
    """
    context = get_context("fork")
    ends: list[Connection] = []
    workers = []
    for index in range(jobs):
        receiver, sender = context.Pipe(duplex=False)
        worker = context.Process(
            target=_work, args=(make, numbers[index::jobs], sender, (*ends, receiver)), daemon=True
        )
        worker.start()
        sender.close()
        ends.append(receiver)
        workers.append(worker)
    try:
        for position in range(len(numbers)):
            result = _received(ends[position % jobs])
            if isinstance(result, Exception):
                raise result
            yield result
    finally:
        for end in ends:
            end.close()
        for worker in workers:
            worker.terminate()
            worker.join()


def _received(end: Connection) -> Block | Exception:
    try:
        result: Block | Exception = end.recv()
    except EOFError:
        hint = "was it short of memory? go on with --resume and fewer --jobs"
        raise GenieError(Problem("Y012", "a worker process was killed", hint=hint)) from None
    return result


def _work(
    make: Maker[Block], numbers: Sequence[int], sender: Connection, inherited: Sequence[Connection]
) -> None:
    # Ctrl-C goes to the whole group of processes; the coordinator answers it and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The reading ends must live in the coordinator alone: when it dies, sending fails, we leave.
    for end in inherited:
        end.close()
    # While one block is sent, the next is made: else a worker waits whenever another's turn is.
    outbox: Queue[Any] = Queue(maxsize=1)
    feeder = Thread(target=_send, args=(outbox, sender), daemon=True)
    feeder.start()
    try:
        for block in make(numbers):
            outbox.put(block)
    except Exception as error:  # noqa: BLE001 - raised again by the coordinator
        outbox.put(error)
    outbox.put(_END)
    feeder.join()


_END = object()


def _send(outbox: "Queue[Any]", sender: Connection) -> None:
    try:
        while (result := outbox.get()) is not _END:
            sender.send(result)
    except BrokenPipeError:  # the coordinator is gone
        os._exit(1)
    except Exception:  # noqa: BLE001 - what cannot be sent would let the other thread wait forever
        traceback.print_exc()
        os._exit(1)
