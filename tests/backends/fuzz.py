"""A fuzzer for the border to C++: calls that no sane program makes, on every exported function.

    python tests/backends/fuzz.py --seconds 60 --seed 7      (make fuzz)

Each call is drawn from its own number, `--call N` repeats one alone. It may do its work or raise
any Python exception; it must not end the process or touch the guard bytes around an operand's
memory. Several threads do so at once, on shared operands, at every level. Before each call its
number is written to a file, so that after a crash it is known.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import faulthandler
import importlib
import math
import os
import random
import sys
import tempfile
import threading
import time
from types import SimpleNamespace
from typing import Any

from tutor import OPS, Buffer, Tensor, apply
from tutor._storage import memory
from tutor.backends import signatures, simd_cpp
from tutor.dtype import TABLE
from tutor.testing.cases.operands import Block

GUARD, ROOM = 64, 1024  # bytes around an operand's memory, and inside of it
HUGE = (2**31, 2**62, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63), -(2**62), -1)
ODD = (None, "a", b"b", 1.5, float("nan"), (), [], {}, object(), Ellipsis, -1, True)


class Guarded:
    """Some memory between guard bytes, filled with small numbers of a dtype (or with anything)."""

    def __init__(self, rng: random.Random) -> None:
        self.dtype = rng.choice(TABLE)
        self.bytes = bytearray(b"\xa5" * GUARD + rng.randbytes(ROOM) + b"\xa5" * GUARD)
        if rng.random() < 0.5:  # so that indices, divisors and shift counts are often legal
            small = bytes(rng.randrange(3) if i % 8 == 0 else 0 for i in range(ROOM))
            self.bytes[GUARD:-GUARD] = small
        inside = memoryview(self.bytes)[GUARD:-GUARD]
        count = ROOM // self.dtype.itemsize
        lent = memory.Memory.borrow(inside, count, self.dtype.itemsize, self.dtype.format)
        self.buf = Block(lent, self.dtype)
        self.count = count

    def intact(self) -> bool:
        return self.bytes[:GUARD] == self.bytes[-GUARD:] == b"\xa5" * GUARD


def operand(rng: random.Random, block: Guarded) -> Any:
    """An operand: mostly one that fits its memory, sometimes one that is broken somewhere."""
    ndim = rng.choice((0, 1, 1, 1, 2, 2, 3, 4))
    shape = tuple(rng.choice((0, 1, 2, 3, 4, 4, 4, 7)) for _ in range(ndim))
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step * rng.choice((1, 1, 1, 1, 0, -1, 2)))
        step *= max(size, 1)
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0 and n)
    found = SimpleNamespace(buf=block.buf, shape=shape, strides=tuple(strides), offset=-low)
    if rng.random() < 0.25:
        spoil(rng, found)
    return found


def spoil(rng: random.Random, x: Any) -> None:
    """Make one thing about an operand wrong."""
    kind = rng.randrange(9)
    if kind == 0:
        delattr(x, rng.choice(("buf", "shape", "strides", "offset")))
    elif kind == 1:
        setattr(x, rng.choice(("buf", "shape", "strides", "offset")), rng.choice(ODD))
    elif kind == 2:
        x.offset = rng.choice((*HUGE, *range(-3, 2000, 97)))
    elif kind == 3:
        x.shape = tuple(rng.choice((*HUGE, 0, 1, 3)) for _ in x.shape) or (rng.choice(HUGE),)
        x.strides = tuple(rng.choice((0, 1, -1, 5)) for _ in x.shape)
    elif kind == 4:
        x.strides = tuple(rng.choice((*HUGE, 0, 1, 999)) for _ in x.strides)
    elif kind == 5:
        x.shape = x.shape * rng.choice((2, 3, 20))
        x.strides = x.strides * rng.choice((2, 3, 20))
    elif kind == 6:
        x.shape = tuple(rng.choice(ODD) for _ in x.shape)
    elif kind == 7:
        x.shape, x.strides = list(x.shape), list(x.strides)
    else:
        x.buf = SimpleNamespace(dtype=rng.choice((*TABLE, *ODD)), raw=bytearray(8), count=1)


def endless(x: Any) -> bool:
    """Walking one element 2**40 times is no mistake, nor is the sum over no rows, each of 2**31
    elements: it only takes that long, or so much memory. (More than 2**48 nobody has: there must be
    an error.)"""
    shape, strides = getattr(x, "shape", ()), getattr(x, "strides", ())
    if not isinstance(shape, tuple) or not isinstance(strides, tuple):
        return False
    is_empty = 0 in shape
    count = math.prod(
        n for n, s in zip(shape, strides, strict=False)
        if isinstance(n, int) and n and (s == 0 or is_empty)
    )  # fmt: skip
    return count > 2**20 and (not is_empty or count < 2**48)


def parameter(rng: random.Random, name: str) -> Any:
    if rng.random() < 0.2:
        return rng.choice((*ODD, *HUGE, (0, 0), (9,), (-1,), (2**70,), ("a",), float("inf")))
    if name in ("axis", "before"):
        return rng.choice((0, 0, 1, -1, (0,), (0, 1), (), (1,)))
    return rng.choice((0, 1, 2, 0.5, -3))


def code(rng: random.Random, dtype: str) -> str:
    """Bytecode for a fused kernel: sound now and then."""
    places = ("i0", "i0", "i1", "r0", "r0", "r1", "o0", "o1", "i31", "r9999")
    lines = []
    for n in range(rng.choice((0, 1, 1, 2, 3, 70))):
        name = rng.choice(("relu", "neg", "add", "mul", "floor_divide", "where", "cast", "lt"))
        args = [rng.choice(places[: rng.choice((1, 4, 10))]) for _ in range(rng.choice((1, 2, 3)))]
        lines.append(f"{rng.choice(('r0', 'r0', f'r{n}', 'o1'))} = {name}.{dtype} {' '.join(args)}")
    end = rng.choice(("copy", "relu", "cast", "sum", "max", "argmax", "prod", "naive", ""))
    lines.append(f"o0 = {end}.{dtype} {rng.choice(places[:5])}")
    lines = lines[-rng.choice((1, 1, 2, 99)) :]
    if rng.random() < 0.3:
        begin = rng.choice(("matmul", "matmul", "linear", "conv2d"))
        lines.insert(0, f"r0 = {begin}.{dtype} {rng.choice(('i0 i1', 'i0 i1', 'i0 i1 i2', 'i0'))}")
    return "; ".join(lines)


def drawn_call(
    rng: random.Random, native: Any, blocks: list[Guarded]
) -> tuple[Any, list[Any], dict[str, Any]] | None:
    """A kernel of some level, operands, which mostly fit it, and parameters."""
    level = rng.choice(native.levels())
    (name, _), kernel = rng.choice(TABLES[level])
    signature = signatures.SIGNATURES.get(name.partition(".")[0])
    count = len(signature.types.rstrip("+"))
    count = count if rng.random() < 0.9 else rng.randrange(7)
    alike = [b for b in blocks if b.dtype.name == kernel.dtype] or blocks
    given = [
        operand(rng, rng.choice(alike if rng.random() < 0.9 else blocks)) for _ in range(count)
    ]
    if given and rng.random() < 0.5:  # most kernels want one shape
        for other in given[1:]:
            for part in ("shape", "strides", "offset"):
                if hasattr(given[0], part):
                    setattr(other, part, getattr(given[0], part))
    if rng.random() < 0.03:
        given[rng.randrange(len(given)) :] = [rng.choice(ODD)]
    if any(map(endless, given)):
        return None
    params = {p: parameter(rng, p) for p in signature.params if rng.random() < 0.97}
    if "code" in params and rng.random() < 0.9:
        axis = params["axis"] if rng.random() < 0.5 and "axis" in params else ()
        params |= {"code": code(rng, kernel.dtype), "results": rng.choice((1, 1, 2)), "axis": axis}
    if rng.random() < 0.03:
        params["surprise"] = 1
    return kernel, given, params


def kernel_call(rng: random.Random, native: Any, blocks: list[Guarded]) -> None:
    if drawn := drawn_call(rng, native, blocks):
        kernel, given, params = drawn
        kernel(*given, **params)


def plan_call(rng: random.Random, native: Any, blocks: list[Guarded]) -> None:
    """Such calls in a Plan: over the blocks, and over an arena as many of them are replaced by."""
    some = rng.sample(blocks, 8)
    slots, given = [], []
    for number, block in enumerate(some):
        where: Any = rng.choice((-1, -1, number * ROOM, block.buf))
        given += [block.buf] if where == -1 else []
        slots.append((block.count, block.dtype.format, where))
    numbers = {id(block.buf): number for number, block in enumerate(some)}
    steps: list[Any] = []
    for _ in range(rng.choice((1, 5, 20))):
        if drawn := drawn_call(rng, native, some):
            kernel, operands, params = drawn
            walks = [tuple(getattr(x, part, 0) for part in ("buf", "shape", "strides", "offset"))
                     for x in operands]  # fmt: skip
            steps.append((kernel, tuple((numbers.get(id(b), b), *w) for b, *w in walks), params))
            try:
                native.Plan(slots, steps[-1:], 8 * ROOM)
            except Exception:  # most Plans are to be run
                if rng.random() < 0.98:
                    steps.pop()
    for forged in (slots, steps, given):
        if forged and rng.random() < 0.02:
            forged[rng.randrange(len(forged))] = rng.choice((*ODD, (1, 2, 3), (), ((), (), ())))
    plan = native.Plan(slots, steps, 8 * ROOM if rng.random() < 0.98 else rng.choice((*ODD, *HUGE)))
    for _ in range(2):
        plan.run(given)


def tensor(rng: random.Random, block: Guarded, drawn: Any) -> Any:
    """A true Tensor, walked as `drawn` says, though no Tensor could be made so."""
    x = Tensor(Buffer.from_memory(block.buf, dtype=block.dtype, copy=False))
    for part in ("shape", "strides", "offset"):
        setattr(x, part, getattr(drawn, part)) if hasattr(drawn, part) else delattr(x, part)
    x.requires_grad = rng.random() < 0.5
    if rng.random() < 0.05:
        setattr(x, rng.choice(("buf", "_grad", "op", "requires_grad")), rng.choice(ODD))
    if rng.random() < 0.05:
        delattr(x, rng.choice(("_grad", "op", "requires_grad")))
    return x


def twin_call(rng: random.Random, native: Any, blocks: list[Guarded]) -> None:
    """An op, on Tensors whose every part may have been assigned to: the Engine's twin in C++."""
    name = rng.choice(TWINS)
    op = OPS[name]
    types = op.signature.types[1:] if op.kernel is not None else "T"
    alike = [b for b in blocks if b.dtype is rng.choice(blocks).dtype] or blocks
    drawn = operand(rng, alike[0])
    given: list[Any] = []
    for letter in types.rstrip("+"):
        if rng.random() < 0.2:
            drawn = operand(rng, alike[0])
        fits = alike if letter == "T" else [b for b in blocks if b.dtype.name == "bool"] or blocks
        given.append(tensor(rng, rng.choice(fits if rng.random() < 0.95 else blocks), drawn))
    if rng.random() < 0.3:
        given[rng.randrange(len(given))] = rng.choice((*ODD, *HUGE, 0, 2, 0.5, 1e300))
    if rng.random() < 0.02:
        given = given[1:] if rng.random() < 0.5 else given * 2
    if any(map(endless, given)):
        return
    params = {p: parameter(rng, p) for p in op.accepts or () if rng.random() < 0.9}
    out = apply(name, *given, **params)
    if not endless(out):
        out.tolist()


def other_call(rng: random.Random, native: Any, blocks: list[Guarded]) -> None:
    """Memory, its methods, and the functions of the module."""
    anything = (*ODD, *HUGE, 0, 1, 7, "f", "?", "E", bytearray(16), memoryview(b"12345678"))
    arguments = [rng.choice(anything) for _ in range(rng.randrange(5))]
    which = rng.randrange(6)
    if which == 0:
        native.Memory(*arguments)
    elif which == 1:
        native.Memory.borrow(*arguments)
    elif which == 2:
        native.kernels(*arguments)
    elif which == 3:
        native.set_num_threads(rng.choice((1, 2, 3, *ODD, *HUGE)))
    elif which == 4:
        one = native.Memory(rng.randrange(9), 4, "f")
        getattr(one, rng.choice(("raw", "address", "count", "format")))
        memoryview(one).cast("B")[: rng.randrange(40)].tobytes()
    else:
        rng.choice([native.Kernel, native.levels, native.num_threads])(*arguments)


def one_call(number: int, seed: int, native: Any, blocks: list[Guarded]) -> str:
    rng = random.Random(f"{seed} {number}")
    try:
        call = rng.choices((kernel_call, plan_call, twin_call, other_call), (6, 3, 3, 1))[0]
        call(rng, native, blocks)
    except Exception as error:  # whatever it says, it has said it in Python
        return type(error).__name__
    return "done"


native_module = importlib.import_module(simd_cpp.NAME)
TABLES = {level: list(native_module.kernels(level).items()) for level in native_module.levels()}
# Ops that C++ runs: with a kernel, or views. (What is asked of memory by `pad` has no end.)
TWINS = sorted(n for n, op in OPS.items() if (op.kernel is not None or op.is_view) and n != "pad")


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--calls", type=int, help="stop after so many instead")
    p.add_argument("--call", type=int, help="this one alone")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--threads", type=int, default=3)
    args = p.parse_args()
    faulthandler.enable()
    outcomes: collections.Counter[str] = collections.Counter()
    log = tempfile.NamedTemporaryFile(prefix="fuzz-", suffix=".call", delete=False)  # noqa: SIM115
    until = time.monotonic() + args.seconds
    numbers = iter([args.call]) if args.call is not None else iter(range(args.calls or 10**12))
    lock, broken = threading.Lock(), []

    def work(who: int) -> None:
        blocks: list[Guarded] = []
        while not broken and (args.calls or args.call is not None or time.monotonic() < until):
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            if number % 200 < args.threads or not blocks:
                blocks = [Guarded(random.Random(f"{args.seed} {number} {i}")) for i in range(30)]
                shared.append(blocks)
            others = shared[-6:]  # while others add to it
            mine = blocks if number % 4 else others[number % len(others)]
            os.pwrite(log.fileno(), f"{args.seed} {number:12}\n".encode(), 24 * who)
            outcome = one_call(number, args.seed, native_module, mine)
            with lock:
                outcomes[outcome] += 1
                del shared[:-6]
            if not all(block.intact() for block in mine):
                broken.append(number)

    shared: list[list[Guarded]] = [[Guarded(random.Random(i)) for i in range(30)]]
    with concurrent.futures.ThreadPoolExecutor(args.threads) as workers:
        for _ in workers.map(work, range(args.threads)):  # raises what one of them has raised
            pass
    total = sum(outcomes.values())
    print(f"{total} calls:", ", ".join(f"{n} {kind}" for kind, n in outcomes.most_common()))
    if broken:
        print(f"guard bytes were overwritten by call {broken[0]} (seed {args.seed})")
        return 1
    os.unlink(log.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
