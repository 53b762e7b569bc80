"""What a function takes from the process around it: thread-locals, globals of installed packages,
the environment, the clock, random numbers."""

from __future__ import annotations

import colorsys
import json
import math
import os
import random
import string
import textwrap
import threading
import time
from types import SimpleNamespace

import tutor
from situations.table import situation, vec
from tutor import Tensor

LOCAL = threading.local()


@situation("thread-locals")
def a_value_of_this_thread(jit):
    LOCAL.k = 2.0
    f = jit(lambda x: x * LOCAL.k)
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        LOCAL.k = k
        yield f(vec())


@situation("thread-locals")
def a_value_of_another_thread(jit):
    LOCAL.k = 2.0
    f = jit(lambda x: x * LOCAL.k)
    made = []

    def other(k):
        LOCAL.k = k
        made.append(f(vec()))

    for k in (2.0, 3.0, 4.0, 5.0):
        thread = threading.Thread(target=other, args=(k,))
        thread.start()
        thread.join()
        yield f(vec()), made[-1]


@situation("thread-locals")
def a_value_that_a_thread_does_not_have(jit):
    LOCAL.__dict__.clear()
    f = jit(lambda x: x * getattr(LOCAL, "gain", 1.0))
    for call in range(5):
        if call == 3:
            LOCAL.gain = 6.0
        yield f(vec())


@situation("thread-locals")
def a_tensor_of_this_thread(jit):
    LOCAL.h = vec(0, 0)

    @jit
    def f(x):
        LOCAL.h = LOCAL.h + x
        return LOCAL.h * 2

    for call in range(5):
        if call == 3:
            LOCAL.h = vec(50, 50)
        yield f(vec(call, 1)), LOCAL.h


@situation("thread-locals")
def a_class_of_thread_locals(jit):
    class Mine(threading.local):
        depth = 1.0

    mine = Mine()
    f = jit(lambda x: x * mine.depth)
    for depth in (1.0, 1.0, 1.0, 4.0, 2.0):
        mine.depth = depth
        yield f(vec())


# A global of a module that is installed or Python's own, which somebody changes.
GLOBALS = {
    "a constant of a module of Python's": (colorsys, "ONE_THIRD", 0.25),
    "a number in math": (math, "tau", 6.0),
    "a text of a module of Python's": (string, "whitespace", " "),
    "a constant of an encoder": (json.encoder, "INFINITY", 4.0),
}


def _global(name, module, attribute, other):
    @situation("installed packages' globals", name=name)
    def changed(jit):
        def number():
            value = getattr(module, attribute) if module is math else vars(module)[attribute]
            return float(len(value)) if isinstance(value, str) else min(value, 9.0)

        before = getattr(module, attribute)
        f = jit(lambda x: x * number())
        for call in range(6):
            setattr(module, attribute, other if call >= 3 else before)
            yield f(vec())
        setattr(module, attribute, before)


for _name, _what in GLOBALS.items():
    _global(_name, *_what)


@situation("installed packages' globals")
def a_function_of_a_package_is_patched(jit):
    before = textwrap.dedent
    f = jit(lambda x: x * len(textwrap.dedent("  ab")))
    for call in range(5):
        if call == 3:
            textwrap.dedent = lambda text: text
        yield f(vec())
    textwrap.dedent = before


@situation("installed packages' globals", needs="numpy")
def a_constant_of_numpy(jit):
    import numpy as np

    f = jit(lambda x: x * np.rate)
    for rate in (2.0, 2.0, 2.0, 5.0, 5.0):
        np.rate = rate
        yield f(vec())
    del np.rate


@situation("installed packages' globals")
def a_helper_of_a_package_reads_its_global(jit):
    """colorsys.rgb_to_hls and its neighbours use ONE_THIRD and TWO_THIRD of their module."""
    before = colorsys.ONE_THIRD
    f = jit(lambda x: x * colorsys.hls_to_rgb(0.1, 0.5, 0.5)[0])
    for call in range(6):
        colorsys.ONE_THIRD = 0.2 if call >= 3 else before
        yield f(vec())
    colorsys.ONE_THIRD = before


# ---- the environment and the clock ---------------------------------------------------------------


# Ways to read the variable RATE_OF_A_SITUATION.
READS = {
    "an item of environ": lambda: float(os.environ["RATE_OF_A_SITUATION"]),
    "get of environ": lambda: float(os.environ.get("RATE_OF_A_SITUATION", "1")),
    "getenv": lambda: float(os.getenv("RATE_OF_A_SITUATION", "1")),
    "whether a variable is set": lambda: 2.0 if "RATE_OF_A_SITUATION" in os.environ else 1.0,
    "the expansion of a path": lambda: float(os.path.expandvars("$RATE_OF_A_SITUATION")),
}


def _environ(name, read):
    @situation("os.environ", name=name)
    def variable(jit):
        f = jit(lambda x: x * read())
        absent = name in ("get of environ", "getenv", "whether a variable is set")
        for rate in ("2", "2", "2", None if absent else "7", "5"):
            if rate is None:
                del os.environ["RATE_OF_A_SITUATION"]
            else:
                os.environ["RATE_OF_A_SITUATION"] = rate
            yield f(vec())
        del os.environ["RATE_OF_A_SITUATION"]


for _name, _read in READS.items():
    _environ(_name, _read)


CLOCKS = {
    "perf counter": time.perf_counter_ns,
    "monotonic": time.monotonic_ns,
    "the time of the day": time.time_ns,
    "the time of the process": time.process_time_ns,
    "the clock behind an attribute": SimpleNamespace(now=time.perf_counter_ns).now,
}


def _clock(name, clock):
    @situation("time", name=name)
    def goes_on(jit):
        start = clock()
        f = jit(lambda x: x + float((clock() - start) // 1000))
        last = -1.0
        for _ in range(5):
            until = clock() + 20_000
            while clock() < until:
                pass
            now = f(vec(0)).item()
            yield now > last
            last = now


for _name, _clock_of in CLOCKS.items():
    _clock(_name, _clock_of)


# ---- random numbers of others --------------------------------------------------------------------


@situation("random")
def a_random_factor(jit):
    f = jit(lambda x: x * random.random())
    for _ in range(5):
        yield f(vec())


@situation("random")
def a_coin_decides(jit):
    f = jit(lambda x: x * 2 if random.random() < 0.5 else x)
    for _ in range(8):
        yield f(vec())


@situation("random")
def a_choice_of_augmentations(jit):
    ways = [lambda x: x, lambda x: -x, lambda x: x * 2]
    f = jit(lambda x: random.choice(ways)(x))
    for _ in range(8):
        yield f(vec())


@situation("random")
def a_generator_of_my_own(jit):
    draw = random.Random(3)
    f = jit(lambda x: x + draw.uniform(0, 1))
    for _ in range(5):
        yield f(vec())


@situation("random")
def a_shuffled_order(jit):
    order = [0, 1, 2]

    @jit
    def f(x):
        random.shuffle(order)
        return x * order[0] + order[1]

    for _ in range(6):
        yield f(vec()), order


@situation("random")
def the_state_of_random_is_moved(jit):
    f = jit(lambda x: x * 2 if random.random() < 2 else x)
    for _ in range(5):
        yield f(vec()), random.random()


@situation("random")
def numbers_of_the_library_go_on(jit):
    f = jit(lambda x: x + Tensor.rand(3))
    for call in range(6):
        if call == 3:
            tutor.manual_seed(1)
        yield f(vec()), Tensor.rand(2)


NUMPY = {
    "a factor drawn by numpy": lambda np, draw: float(np.random.rand()),
    "an integer drawn by numpy": lambda np, draw: int(np.random.randint(0, 9)),
    "a generator of numpy": lambda np, draw: float(draw.random()),
    "a normal number of a generator": lambda np, draw: float(draw.normal()),
    "a permutation of numpy": lambda np, draw: float(draw.permutation(5)[0]),
}


def _numpy(name, number):
    @situation("numpy RNG", needs="numpy", name=name)
    def drawn(jit):
        import numpy as np

        np.random.seed(3)
        draw = np.random.default_rng(3)
        f = jit(lambda x: x + number(np, draw))
        for _ in range(5):
            yield f(vec())


for _name, _number in NUMPY.items():
    _numpy(_name, _number)
