"""Widths of text in processes that draw side by side."""

from multiprocessing import get_context

from report.draw import paper

LETTERS = [chr(c) for c in range(33, 127)]


def widths(rounds, queue=None):
    found = [[paper._font().load_char(ord(c)).linearHoriAdvance for c in LETTERS] for _ in range(rounds)]
    if queue:
        queue.put(all(one == found[0] for one in found))
    return found


def test_processes_do_not_disturb_each_other_s_font():
    paper._font()
    context = get_context("fork")
    queue = context.SimpleQueue()
    helpers = [context.Process(target=widths, args=(300, queue)) for _ in range(3)]
    for helper in helpers:
        helper.start()
    for helper in helpers:
        helper.join()
    assert [helper.exitcode for helper in helpers] == [0, 0, 0] and all(queue.get() for _ in helpers)
