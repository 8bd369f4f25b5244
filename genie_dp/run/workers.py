"""Blocks made by several processes and yielded in order."""

import os
import pickle
import signal
import struct
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from queue import Queue
from socket import MSG_WAITALL, socket, socketpair
from threading import Thread
from typing import Any, TypeVar

from genie_dp.errors import GenieError, Problem

Block = TypeVar("Block")
Head = TypeVar("Head")
Body = TypeVar("Body")
Maker = Callable[[Sequence[int]], Iterator[Block]]
"""Makes blocks of these numbers, in this order."""
Ask = Callable[[Any], Any]
Answer = Callable[[Body, Any], Any]


def in_processes(make: Maker[Block], numbers: Sequence[int], jobs: int) -> Iterator[Block]:
    """Yield the blocks of `numbers`, in order, made by `jobs` forked workers.

    Worker i makes every jobs-th block. The closure of `make` is inherited, not copied.

    Raises:
        GenieError: a worker was killed (Y012). Other exceptions of a worker are raised again.
    """
    for block, _ in _made_by_workers(make, None, numbers, jobs):
        yield block


def in_answering_processes(
    make: Maker[tuple[Head, Body]], answer: Answer[Body], numbers: Sequence[int], jobs: int
) -> Iterator[tuple[Head, Ask]]:
    """Yield the heads of blocks, whose bodies stay with the workers, and a function to ask them.

    It returns the value of `answer` for the body and its argument, in the worker; until the next
    head is yielded.

    Raises:
        GenieError: a worker was killed (Y012). Other exceptions of a worker are raised again.
    """
    return _made_by_workers(make, answer, numbers, jobs)


def _made_by_workers(
    make: Maker[Any], answer: Answer[Any] | None, numbers: Sequence[int], jobs: int
) -> Iterator[tuple[Any, Ask]]:
    context = get_context("fork")
    ends: list[socket] = []
    workers = []
    for index in range(jobs):
        receiver, sender = socketpair()
        worker = context.Process(
            target=_work,
            args=(make, answer, numbers[index::jobs], sender, (*ends, receiver)),
            daemon=True,
        )
        worker.start()
        sender.close()
        ends.append(receiver)
        workers.append(worker)
    try:
        for position in range(len(numbers)):
            end = ends[position % jobs]
            yield _receive_result(end), partial(_ask, end)
            if answer is not None:
                _send_request(end, _NO_MORE)
    finally:
        for end in ends:
            end.close()
        for worker in workers:
            worker.terminate()
            worker.join()


# ------------------------------------------------------------------------------- on the wire

_LENGTH = struct.Struct("<Q")


def _put(end: socket, result: Any) -> None:
    """Send a result: how many parts, then each with its length; arrays are parts of their own.

    So a block of seven megabytes is not copied into a pickle on one side and out of it on the
    other, and does not go through a pipe 64 kB at a time.
    """
    arrays: list[pickle.PickleBuffer] = []
    parts = [memoryview(pickle.dumps(result, 5, buffer_callback=arrays.append))]
    parts += [array.raw() for array in arrays]
    end.sendall(_LENGTH.pack(len(parts)))
    for part in parts:
        end.sendall(_LENGTH.pack(part.nbytes))
        end.sendall(part)


def _get(end: socket) -> Any:
    """Return the next result of a worker; EOFError if it has gone."""
    count = _number(end)
    data, *arrays = [_receive_bytes(end, _number(end)) for _ in range(count)]
    return pickle.loads(data, buffers=arrays)


def _number(end: socket) -> int:
    number: int = _LENGTH.unpack(_receive_bytes(end, _LENGTH.size))[0]
    return number


def _receive_bytes(end: socket, size: int) -> bytearray:
    buffer = bytearray(size)
    rest = memoryview(buffer)
    while rest:
        count = end.recv_into(rest, 0, MSG_WAITALL)
        if not count:
            raise EOFError
        rest = rest[count:]
    return buffer


def _receive_result(end: socket) -> Any:
    """Return the result of a worker, or raise its exception."""
    try:
        result = _get(end)
    except (EOFError, ConnectionResetError):
        raise _killed_worker_error() from None
    if isinstance(result, Exception):
        raise result
    return result


def _ask(end: socket, request: Any) -> Any:
    _send_request(end, request)
    return _receive_result(end)


def _send_request(end: socket, request: Any) -> None:
    try:
        _put(end, request)
    except (BrokenPipeError, ConnectionResetError):
        raise _killed_worker_error() from None


def _killed_worker_error() -> GenieError:
    hint = "was it short of memory? go on with --resume and fewer --jobs"
    return GenieError(Problem("Y012", "a worker process was killed", hint=hint))


# ---------------------------------------------------------------------------------- a worker


def _work(
    make: Maker[Any],
    answer: Answer[Any] | None,
    numbers: Sequence[int],
    end: socket,
    inherited: Sequence[socket],
) -> None:
    # Ctrl-C goes to the whole group of processes; the coordinator answers it and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The reading ends must live in the coordinator alone: when it dies, sending fails, we leave.
    for end_of_another in inherited:
        end_of_another.close()
    # While one block is sent, the next is made: else a worker waits whenever another's turn is.
    outbox: Queue[Any] = Queue(maxsize=1)
    feeder = Thread(target=_send, args=(outbox, answer, end), daemon=True)
    feeder.start()
    try:
        for block in make(numbers):
            outbox.put(block)
    except Exception as error:  # noqa: BLE001 - raised again by the coordinator
        outbox.put(error)
    outbox.put(_END)
    feeder.join()


_END = object()
_NO_MORE = "no more"


def _send(outbox: "Queue[Any]", answer: Answer[Any] | None, end: socket) -> None:
    try:
        while (result := outbox.get()) is not _END:
            if answer is None or isinstance(result, Exception):
                _put(end, result)
                continue
            head, body = result
            _put(end, head)
            while (request := _get(end)) != _NO_MORE:
                _put(end, _answer_request(answer, body, request))
    except (EOFError, BrokenPipeError, ConnectionResetError):  # the coordinator is gone
        os._exit(1)
    except Exception:  # noqa: BLE001 - what cannot be sent would let the other thread wait forever
        traceback.print_exc()
        os._exit(1)


def _answer_request(answer: Answer[Any], body: Any, request: Any) -> Any:
    try:
        return answer(body, request)
    except Exception as error:  # noqa: BLE001 - raised again by the coordinator
        return error
