"""What the processes have in common that read and draw beside the first one."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection

PR_SET_PDEATHSIG = 1
"""Of Linux's prctl(): the signal that a process gets when its parent ends."""


def belong_to(parent: int) -> None:
    """None is to go on when the first one is killed; the first one ends them when it is interrupted."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() != parent:
        os._exit(1)


_begun: set = set()
"""Processes that nobody has waited for yet."""


def end() -> None:
    """Ends them: the report is done, or has failed without them."""
    while _begun:
        process = _begun.pop()
        process.kill()
        process.join()


UNAVAILABLE = (OSError, ImportError, NotImplementedError)
"""What Python raises where no process or no semaphore can be had: too many of this user's, or /dev/shm is read-only."""


class Died(RuntimeError):
    """A process ended before it had a result, as where memory runs out."""


def begin(function: Callable, *arguments: object) -> Callable[[], object]:
    """Begins a function in a process of its own. What this returns waits for it, once, and returns or raises what it
    did, or Died. Where no process can begin, it does the work itself."""
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

    def wait() -> object:
        try:
            is_result, made = result.recv()
        except EOFError:
            raise Died("its process ended early, as where memory runs out") from None
        finally:
            result.close()
            process.join()
            _begun.discard(process)
        if is_result:
            return made
        raise made
    return wait


def in_a_fork(function: Callable, *arguments: object) -> object:
    """Runs a function in a process of its own, for one that leaves threads behind; as begin(), but waits at once."""
    return begin(function, *arguments)()


def _run(parent: int, sending: Connection, function: Callable, arguments: tuple) -> None:
    belong_to(parent)
    try:
        made = True, function(*arguments)
    except Exception as error:
        made = False, error
    sending.send(made)
