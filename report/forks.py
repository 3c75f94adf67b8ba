"""Worker processes, which read files and draw figures in addition to the first process."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TypeVar

Made = TypeVar("Made")
PR_SET_PDEATHSIG = 1
"""An option of Linux's prctl(): the signal that a process gets when its parent ends."""


def belong_to(parent: int) -> None:
    """Lets the worker end when the first process is killed; when interrupted, the first process ends its workers."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() != parent:
        os._exit(1)


_begun: set[BaseProcess] = set()
"""Processes that no caller has waited for yet."""


def end() -> None:
    """Ends the remaining workers: the report is complete, or has failed."""
    while _begun:
        process = _begun.pop()
        process.kill()
        process.join()


UNAVAILABLE = (OSError, ImportError, NotImplementedError)
"""Raised by Python if no process or semaphore is available: the user has too many, or /dev/shm is read-only."""


class Died(RuntimeError):
    """A process ended before it had a result, for instance when memory ran out."""


def begin(function: Callable[..., Made], *arguments: object) -> Callable[[], Made]:
    """Begins a function in a process of its own. The returned function waits for it, once, and returns or raises its result,
    or raises Died. If no process can begin, it does the work itself."""
    context = get_context("fork")
    result, sending = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(os.getpid(), sending, function, arguments), daemon=True)
    try:
        process.start()
    except OSError:
        for end in (result, sending):
            end.close()
        return lambda: function(*arguments)
    sending.close()  # so that the pipe ends with the process
    _begun.add(process)

    def wait() -> Made:
        try:
            is_result, made = result.recv()
        except EOFError:
            raise Died("its process ended early, perhaps because memory ran out") from None
        finally:
            result.close()
            process.join()
            _begun.discard(process)
        if is_result:
            return made
        raise made
    return wait


def in_a_fork(function: Callable[..., Made], *arguments: object) -> Made:
    """Runs a function in a process of its own, for one that leaves threads behind; as begin(), but waits at once."""
    return begin(function, *arguments)()


def _run(parent: int, sending: Connection, function: Callable, arguments: tuple) -> None:
    belong_to(parent)
    try:
        made = True, function(*arguments)
    except Exception as error:
        made = False, error
    sending.send(made)
