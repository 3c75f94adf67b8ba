"""Functions in processes of their own: what they return and raise, and the message when they die."""

import os
import time

import pytest

from report import forks


def test_what_it_returns_is_waited_for():
    wait = forks.begin(lambda a, b: (time.sleep(0.2), a + b, os.getpid()), 1, 2)
    _, made, pid = wait()
    assert made == 3 and pid != os.getpid()


def test_a_large_result_comes_whole():
    assert forks.in_a_fork(bytes, 10_000_000) == bytes(10_000_000)


def test_what_it_raises_is_raised():
    with pytest.raises(ZeroDivisionError, match="division"):
        forks.in_a_fork(lambda: 1 / 0)


def test_one_that_dies_is_told():
    with pytest.raises(forks.Died, match="ended early"):
        forks.in_a_fork(os._exit, 3)
