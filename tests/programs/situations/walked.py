"""The same Tensor, walked otherwise; names and gradients that are gone, or there by now."""

from __future__ import annotations

from types import SimpleNamespace as S

from situations.table import situation, vec
from tutor import Tensor

SCALE = 2.0


@situation("walked otherwise")
def the_shape_of_a_state_is_set(jit):
    s = S(w=Tensor([[1.0, 2.0, 3.0, 4.0]]))
    s.w.strides = (1, 1)
    f = jit(lambda x: s.w * x)
    for call in range(8):
        if call == 4:
            s.w.shape = (4, 1)
        yield f(vec(1, 2, 3, 4))


@situation("walked otherwise")
def the_strides_of_a_state_are_set(jit):
    s = S(w=Tensor([[1.0, 2.0], [3.0, 4.0]]))
    f = jit(lambda x: s.w * x)
    for call in range(8):
        s.w.strides = (1, 2) if call in (4, 5) else (2, 1)
        yield f(vec(call, 1))


@situation("walked otherwise")
def the_offset_of_a_state_is_set(jit):
    s = S(w=Tensor([1.0, 2.0, 3.0, 4.0])[:2])
    f = jit(lambda x: s.w * x)
    for call in range(8):
        s.w.offset = 2 if call > 4 else 0
        yield f(vec(call, 1))


@situation("walked otherwise")
def a_parameter_is_transposed_where_it_is(jit):
    s = S(w=Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True))

    def step(x):
        s.w.grad = None
        ((s.w @ x) ** 2).sum().backward()
        return s.w.grad + 0

    f = jit(step)
    for call in range(8):
        if call == 4:
            s.w.strides = (1, 2)
        yield f(vec(call, 1))


@situation("walked otherwise")
def an_argument_begins_elsewhere(jit):
    f, big = jit(lambda x, y: x * 2 + y), Tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    for call in range(9):
        yield f(big[call % 3 : call % 3 + 2], big[call % 2 + 2 : call % 2 + 4])


@situation("walked otherwise")
def a_window_is_written_and_handed_out(jit):
    f = jit(lambda x: (x.add_(1), x[1:])[1])
    for call in range(9):
        big = vec(1, 2, 3, 4, 5, 6)
        kept = (big * big).sum()
        out = f(big[call % 4 : call % 4 + 3])
        out += 10
        yield big, kept, big.buf.version > 0, out.offset


@situation("walked otherwise")
def one_window_within_another(jit):
    f = jit(lambda x, y: x.sum() + y)
    for call in range(9):
        big = vec(1, 2, 3, 4, 5, 6, 7, 8)
        yield f(big[call % 3 : call % 3 + 4], big[call % 3 + 1 : call % 3 + 3])


@situation("walked otherwise")
def the_same_slice_twice_and_two_slices_alike(jit):
    f = jit(lambda x, y: (x.mul_(2), x + y)[1])
    for call in range(10):
        big = vec(1, 2, 3, 4, 5, 6)
        first = big[1:4]
        yield f(first, first if call % 2 else big[1:4]), big


@situation("gone or there")
def a_global_is_deleted(jit):
    globals()["SCALE"] = 2.0
    f = jit(lambda x: x * SCALE)
    for call in range(8):
        if call == 4:
            del globals()["SCALE"]
        if call == 6:
            globals()["SCALE"] = 3.0
        try:
            yield f(vec(call))
        except NameError:
            yield "there is no SCALE"


@situation("gone or there")
def an_attribute_is_deleted(jit):
    s = S(k=2.0)
    f = jit(lambda x: x * s.k)
    for call in range(7):
        if call == 4:
            del s.k
        try:
            yield f(vec(call))
        except AttributeError:
            yield "there is no k"


@situation("gone or there")
def gradients_that_the_call_takes_away(jit):
    s = S(w=Tensor([1.0, 2.0], requires_grad=True))

    def clear(x):
        s.w.grad = None
        return x * 2

    f = jit(clear)
    for call in range(8):
        s.w.grad = vec(call, 1)
        yield f(vec(call)), s.w.grad is None


@situation("gone or there")
def an_argument_has_a_gradient_by_now(jit):
    f = jit(lambda x: x * 2 if x.grad is None else x.grad * 3)
    for call in range(9):
        x = vec(call, 1)
        if call % 4 == 3:
            x.grad = vec(5, 6)
        yield f(x)


@situation("walked otherwise", "gone or there")
def an_argument_is_the_state_by_now(jit):
    s = S(w=vec(1, 2))
    f = jit(lambda x: (x * 3, s.w.mul_(2))[0] + x)
    for call in range(9):
        yield f(s.w if call in (5, 7) else vec(call, 1)), s.w


@situation("walked otherwise")
def an_argument_shares_the_memory_of_the_state(jit):
    s = S(w=vec(1, 2, 3, 4))
    f = jit(lambda x: (x * 3, s.w.mul_(2))[0] + x)
    for call in range(9):
        yield f(s.w.reshape(2, 2).reshape(4) if call in (5, 7) else vec(call, 1, 2, 3)), s.w
