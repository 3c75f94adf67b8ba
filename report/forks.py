"""What the processes have in common that read and draw beside the first one."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

PR_SET_PDEATHSIG = 1
"""Of Linux's prctl(): the signal that a process gets when its parent ends."""


def belong_to(parent: int) -> None:
    """None is to go on when the first one is killed; the first one ends them when it is interrupted."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() != parent:
        os._exit(1)


def in_a_fork(function: Callable, *arguments: object) -> object:
    """Runs a module's function in a process of its own, since it leaves threads behind; returns or raises what it does,
    and BrokenProcessPool if the process dies."""
    with ProcessPoolExecutor(1, get_context("fork"), belong_to, (os.getpid(),)) as fork:
        return fork.submit(function, *arguments).result()
