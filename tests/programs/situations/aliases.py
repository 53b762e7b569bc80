"""One Tensor or one memory under several names, in attributes and lists."""

from __future__ import annotations

from types import SimpleNamespace

from situations.table import rows, situation, vec
from tutor import Tensor


@situation("aliases", "weights assigned")
def the_best_weight_is_the_weight_itself(jit):
    s = SimpleNamespace(w=vec())
    s.best = s.w

    @jit
    def grow():
        s.w = s.w * 2
        return (s.w + s.best).sum()

    for call in range(5):
        if call == 1:
            s.w = s.best
        yield grow()


@situation("aliases")
def two_names_part_after_two_calls(jit):
    s = SimpleNamespace(a=vec(1, 1))
    s.b = s.a
    f = jit(lambda x: (s.a * 2 + s.b) * x)
    for call in range(6):
        if call == 3:
            s.b = vec(5, 5)
        yield f(vec(1, 2))


@situation("aliases")
def two_names_become_one(jit):
    s = SimpleNamespace(a=vec(1, 1), b=vec(5, 5))

    @jit
    def f(x):
        s.a += x
        return s.a * 10 + s.b

    for call in range(6):
        if call == 3:
            s.b = s.a
        yield f(vec(1, 2)), s.a, s.b


@situation("aliases", "views of state")
def the_tail_of_a_buffer_is_kept(jit):
    c = SimpleNamespace(buf=vec(1, 2, 3, 4), tail=None)

    @jit
    def f(x):
        c.tail = c.buf[-1:]
        c.buf = c.buf * x
        return c.tail + 1

    for call in range(5):
        yield f(vec(2)), c.tail, c.buf


@situation("aliases")
def two_attributes_swap(jit):
    c = SimpleNamespace(a=vec(1, 2), b=vec(3, 4))

    @jit
    def f(x):
        c.a, c.b = c.b, c.a
        return c.a * x - c.b

    for _ in range(6):
        yield f(vec(1, 10)), c.a, c.b


@situation("aliases")
def a_list_is_rotated(jit):
    ring = [vec(1), vec(2), vec(3)]

    @jit
    def f(x):
        ring[:] = ring[1:] + ring[:1]
        return ring[0] * x

    for _ in range(6):
        yield f(vec(10)), list(ring)


@situation("aliases", "RNN state carried")
def a_recurrent_net_starts_from_h0(jit):
    s = SimpleNamespace(h0=Tensor.zeros(4, 3))
    s.h, w = s.h0, Tensor.full((3, 3), 0.25)

    @jit
    def step(x):
        s.h = (x + s.h @ w).tanh()
        return s.h.sum()

    for call in range(6):
        if call == 3:
            s.h = s.h0
        yield step(rows(call)), s.h, s.h0


@situation("aliases", "target networks")
def a_target_network_begins_as_the_network(jit):
    s = SimpleNamespace(online=vec(1, 2))
    s.target = s.online

    @jit
    def step(x):
        s.online = s.online - 0.5 * (s.online - s.target * x)
        return s.online

    for call in range(6):
        if call % 2:
            s.target = s.online
        yield step(vec(2, 3)), s.target


@situation("aliases")
def a_snapshot_of_svrg_is_taken_now_and_then(jit):
    s = SimpleNamespace(w=vec(4, 2), slope=vec(0, 0))
    s.snapshot = s.w

    @jit
    def step(x):
        s.w = s.w - 0.25 * (s.w * x - s.snapshot * x + s.slope)
        return (s.w * s.snapshot).sum()

    for call in range(6):
        if call in (0, 3):
            s.snapshot, s.slope = s.w, s.w * 0.5
        yield step(vec(1, 2)), s.w


@situation("aliases", "views of state")
def a_row_of_a_table_under_a_name_of_its_own(jit):
    s = SimpleNamespace(table=rows())
    s.row = s.table[1]

    @jit
    def f(x):
        s.row += x
        return s.table.sum(0)

    for call in range(6):
        if call == 3:
            s.row = s.table[2]
        yield f(vec()), s.table


@situation("views of state")
def a_view_is_made_of_other_memory(jit):
    s = SimpleNamespace(w=vec(1, 2, 3, 4))
    s.head = s.w[:2]
    f = jit(lambda: s.head * 2)
    for call in range(5):
        if call == 3:
            s.w = vec(5, 6, 7, 8)
            s.head = s.w[:2]
        s.w += 1
        yield f()


@situation("views of state")
def a_transposed_weight_is_tied(jit):
    s = SimpleNamespace(w=rows())
    s.t = s.w.T

    @jit
    def f(x):
        s.w *= x
        return s.w @ s.t

    for call in range(5):
        yield f(vec(2)), s.t


@situation("views of state")
def a_flat_view_of_all_parameters(jit):
    flat = Tensor.zeros(6)
    parts = [flat[:2], flat[2:6].reshape(2, 2)]

    @jit
    def f(x):
        parts[0].add_(x)
        parts[1].sub_(x)
        return flat.sum()

    for call in range(5):
        if call == 3:
            flat.zero_()
        yield f(vec(call, 1)), flat
