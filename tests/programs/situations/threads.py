"""Threads that call a jitted function, and what they share."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

from situations.table import rows, situation, vec

# ---- threads -------------------------------------------------------------------------------------


def _together(calls):
    """What functions give that run in threads of their own at the same time."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


@situation("threading")
def four_threads_call_one_function(jit):
    f = jit(lambda x: (x * 2 + 1).sum())
    for call in range(4):
        yield _together([lambda i=i: f(rows(call + i)) for i in range(4)])


@situation("threading")
def threads_with_arguments_of_many_kinds(jit):
    f = jit(lambda x: (x * 3).sum())
    for _ in range(3):
        yield _together([lambda n=n: f(vec(*range(1, n))) for n in (2, 3, 4, 5)])


@situation("threading")
def each_thread_counts_in_a_state_of_its_own(jit):
    states = [SimpleNamespace(h=vec(i)) for i in range(4)]

    @jit
    def f(s, x):
        s.h = s.h + x
        return s.h * 2

    for _ in range(4):
        yield _together([lambda s=s: f(s, vec(1)) for s in states]), [s.h for s in states]


@situation("threading")
def a_lock_is_taken_inside(jit):
    lock, s = threading.Lock(), SimpleNamespace(total=vec(0))

    @jit
    def f(x):
        with lock:
            s.total += x
        return s.total * 1

    for _ in range(3):
        _together([lambda: f(vec(1)) for _ in range(4)])
        yield s.total, lock.locked()


@situation("threading")
def an_event_stops_it(jit):
    stop = threading.Event()
    f = jit(lambda x: x * 0 if stop.is_set() else x * 2)
    for call in range(6):
        if call == 3:
            stop.set()
        if call == 5:
            stop.clear()
        yield f(vec())


@situation("threading", "queues")
def a_worker_fills_a_queue(jit):
    batches = queue.Queue()
    f = jit(lambda: batches.get() * 2)
    for call in range(5):
        _together([lambda: batches.put(rows(call))])
        yield f()


@situation("threading")
def the_name_of_the_thread(jit):
    f = jit(lambda x: x * len(threading.current_thread().name))
    made = []
    for name in ("a", "a", "a", "four", "a"):
        thread = threading.Thread(target=lambda: made.append(f(vec())), name=name)
        thread.start()
        thread.join()
        yield made[-1]
