"""Arguments and settings that are equal and not the same, or the same and not equal; keywords,
partial functions, members of enums."""

from __future__ import annotations

import enum
import functools
from types import SimpleNamespace

from situations.table import situation, vec
from tutor import Tensor

# Values that compare equal, or nearly, and make another number of x; and what is made of them.
ALIKE = {
    "minus zero as a sign": ((0.0, 0.0, 0.0, -0.0, 0.0), lambda x, k: x.copysign(k)),
    "minus zero in a product": ((0.0, 0.0, -0.0, 0.0, -0.0), lambda x, k: x * k),
    "one and True": ((1, 1, 1, True, True, 1), lambda x, k: x * 2 if k is True else x),
    "one and one point zero": ((1, 1, 1, 1.0, 1.0, 1), lambda x, k: Tensor([3, 4]) * k),
    "True and one point zero": ((True, True, 1.0, True, 1.0), lambda x, k: Tensor([3, 4]) * k),
    "False and zero": ((0, 0, 0, False, 0, False), lambda x, k: len(repr(k)) + x),
    "a number and its text": ((1, 1, 1, "1", "1", 1), lambda x, k: x * float(k) + len(repr(k))),
    "None and False": ((None, None, None, False, False), lambda x, k: x if k is None else x * 2),
    "a nan": ((float("nan"),) * 4, lambda x, k: x + k),
    "a list and a tuple": (([1], [1], [1], (1,), (1,), [1]), lambda x, k: x + len(repr(k))),
    "minus zero in a tuple": (((0.0,),) * 3 + ((-0.0,),) * 2, lambda x, k: x * k[0]),
    "True in a dict": (({"k": 1},) * 3 + ({"k": True},) * 2, lambda x, k: x + len(repr(k))),
    "a large number": ((10**20, 10**20, 10**20, 10**21, 1), lambda x, k: x * float(k)),
    "a complex zero": ((0.0, 0.0, 0j, 0.0, 0j), lambda x, k: x + len(repr(k))),
    "bytes and their text": ((b"a", b"a", b"a", "a", "a"), lambda x, k: x + len(repr(k))),
    "two empty texts": (("", "", "", b"", ""), lambda x, k: x + len(repr(k))),
}  # fmt: skip


def _alike(name, values, of):
    @situation("-0.0, 1, True, 1.0", name=name + " as an argument")
    def argument(jit):
        f = jit(of)
        for value in values:
            yield f(vec(1, 2), value)

    @situation("-0.0, 1, True, 1.0", name=name + " as a setting")
    def setting(jit):
        s = SimpleNamespace(k=values[0])
        f = jit(lambda x: of(x, s.k))
        for value in values:
            s.k = value
            yield f(vec(1, 2))


for _name, _what in ALIKE.items():
    _alike(_name, *_what)


@situation("-0.0, 1, True, 1.0")
def a_key_of_a_dict_that_is_one_or_true(jit):
    table = {1: 2.0}
    f = jit(lambda x: x * len(repr(next(iter(table)))))
    for call in range(6):
        if call == 3:
            table.clear()
            table[True] = 2.0
        yield f(vec())


@situation("-0.0, 1, True, 1.0")
def minus_zero_in_a_default(jit):
    def act(x, k=0.0):
        return x * k

    f = jit(lambda x: act(x))
    for k in (0.0, 0.0, 0.0, -0.0, 0.0):
        act.__defaults__ = (k,)
        yield f(vec())


@situation("-0.0, 1, True, 1.0")
def minus_zero_in_the_result(jit):
    s = SimpleNamespace(k=0.0)
    f = jit(lambda x: (x * 2, s.k))
    for k in (0.0, 0.0, 0.0, -0.0, False):
        s.k = k
        yield f(vec())


# ---- keywords and partial functions --------------------------------------------------------------


def affine(x, scale=1.0, *, shift=0.0):
    return x * scale + shift


@situation("keywords")
def keywords_in_another_order(jit):
    f = jit(lambda a, b: a - b)
    u, v = vec(1, 2), vec(5, 9)
    yield f(a=u, b=v)
    yield f(b=v, a=u)
    for _ in range(3):
        yield f(a=u, b=v), f(b=v, a=u), f(b=u, a=v), f(u, b=v)


@situation("keywords")
def a_number_by_name_and_by_place(jit):
    f = jit(affine)
    for scale in (2.0, 2.0, 2.0, 3.0, 2.0):
        yield f(vec(), scale), f(vec(), scale=scale), f(vec(), shift=scale)


@situation("keywords")
def the_order_of_keywords_is_read(jit):
    f = jit(lambda **parts: next(iter(parts.values())) * 2)
    u, v = vec(1, 2), vec(5, 9)
    for names in ("ab", "ab", "ab", "ba", "ab", "ba"):
        yield f(**{name: {"a": u, "b": v}[name] for name in names})


@situation("keywords")
def a_keyword_comes_and_goes(jit):
    f = jit(lambda x, mask=None: x if mask is None else x * mask)
    for mask in (None, None, None, vec(0, 1, 0), vec(1, 1, 0), None):
        yield f(vec(), mask=mask)


@situation("keywords")
def an_argument_that_was_none(jit):
    f = jit(lambda x, *more: x + sum(more, 0.0))
    for more in ((), (), (), (1.0,), (1.0, 2.0), ()):
        yield f(vec(), *more)


@situation("partial")
def the_keywords_of_a_partial(jit):
    part = functools.partial(affine, scale=2.0)
    f = jit(lambda x: part(x))
    for scale in (2.0, 2.0, 2.0, 5.0, 5.0):
        part.keywords["scale"] = scale
        yield f(vec())


@situation("partial")
def a_partial_is_jitted(jit):
    part = functools.partial(affine, scale=2.0)
    f = jit(part)
    for shift in (0.0, 0.0, 0.0, 5.0, 5.0):
        part.keywords["shift"] = shift
        yield f(vec())


@situation("partial")
def a_partial_is_made_of_other_arguments(jit):
    part = functools.partial(affine, scale=2.0)
    f = jit(lambda x: part(x))
    for call in range(6):
        if call == 3:
            part.__setstate__((affine, (), {"scale": 7.0}, None))
        yield f(vec())


@situation("partial")
def a_partial_holds_a_tensor(jit):
    s = SimpleNamespace(part=functools.partial(affine, shift=vec(1, 1, 1)))
    f = jit(lambda x: s.part(x))
    for call in range(6):
        if call == 3:
            s.part = functools.partial(affine, shift=vec(5, 6, 7))
        yield f(vec())


@situation("partial")
def a_partial_of_a_partial(jit):
    s = SimpleNamespace(k=2.0)
    inner = functools.partial(lambda s, x: x * s.k, s)
    f = jit(functools.partial(inner))
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        s.k = k
        yield f(vec())


@situation("partial")
def a_partial_method(jit):
    class Layer:
        k = 1.0

        def run(self, x, gain):
            return x * gain * self.k

        twice = functools.partialmethod(run, gain=2.0)

    layer = Layer()
    f = jit(lambda x: layer.twice(x))
    for k in (1.0, 1.0, 1.0, 4.0, 4.0):
        layer.k = k
        yield f(vec())


# ---- enums ---------------------------------------------------------------------------------------


class Mode(enum.Enum):
    TRAIN = 1.0
    TEST = 2.0


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Parts(enum.Flag):
    BIAS = enum.auto()
    SCALE = enum.auto()


@situation("enum flags")
def a_member_decides(jit):
    s = SimpleNamespace(mode=Mode.TRAIN)
    f = jit(lambda x: x * 2 if s.mode is Mode.TRAIN else x)
    for mode in (Mode.TRAIN, Mode.TRAIN, Mode.TRAIN, Mode.TEST, Mode.TRAIN):
        s.mode = mode
        yield f(vec())


@situation("enum flags")
def a_member_is_an_argument(jit):
    f = jit(lambda x, mode: x * mode.value)
    for mode in (Mode.TRAIN, Mode.TRAIN, Mode.TRAIN, Mode.TEST, Mode.TRAIN):
        yield f(vec(), mode)


@situation("enum flags")
def an_integer_member_and_an_integer(jit):
    f = jit(lambda x, level: x + len(repr(level)) * level)
    for level in (Level.LOW, Level.LOW, Level.LOW, 1, Level.HIGH, 2, Level.LOW):
        yield f(vec(), level)


@situation("enum flags")
def flags_are_put_together(jit):
    s = SimpleNamespace(parts=Parts.BIAS)

    @jit
    def f(x):
        y = x * 3 if Parts.SCALE in s.parts else x
        return y + 1 if Parts.BIAS in s.parts else y

    for parts in (Parts.BIAS,) * 3 + (Parts.BIAS | Parts.SCALE, Parts.SCALE, Parts(0)):
        s.parts = parts
        yield f(vec())


@situation("enum flags")
def the_value_of_a_member_is_changed(jit):
    class Rate(enum.Enum):
        SLOW = 1.0

    f = jit(lambda x: x * Rate.SLOW.value)
    for call in range(5):
        if call == 3:
            Rate.SLOW._value_ = 4.0
        yield f(vec())


@situation("enum flags")
def an_attribute_of_a_member(jit):
    Mode.TRAIN.gain = 1.0
    f = jit(lambda x: x * Mode.TRAIN.gain)
    for gain in (1.0, 1.0, 1.0, 4.0, 1.0):
        Mode.TRAIN.gain = gain
        yield f(vec())
    del Mode.TRAIN.gain
