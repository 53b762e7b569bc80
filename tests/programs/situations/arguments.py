"""Arguments and results that share memory with each other and with state, and `is`."""

from __future__ import annotations

from types import SimpleNamespace

from situations.table import net, rows, situation, state, vec, weight
from tutor import Tensor, nn, optim

# ---- arguments -----------------------------------------------------------------------------------


@situation("arguments sharing memory")
def one_argument_twice_and_then_two(jit):
    @jit
    def f(a, b):
        a += 1
        return a * b

    u, v = vec(1, 2), vec(3, 4)
    for a, b in ((u, v), (u, u), (u, v), (v, v), (u, u), (v, u)):
        yield f(a, b), u, v


@situation("arguments sharing memory", "gradients")
def a_parameter_twice_and_then_another_over_its_memory(jit):
    w = weight(2, 3)
    v = w.detach().requires_grad_()

    @jit
    def f(a, b):
        (a * a * b).sum().backward()

    for a, b in ((w, w), (w, w), (w, v), (w, v), (v, w), (w, w)):
        w.grad = v.grad = None
        f(a, b)
        yield w.grad, v.grad


@situation("arguments sharing memory")
def overlapping_windows_of_a_text(jit):
    text = Tensor([float(i) for i in range(20)])
    f = jit(lambda x, y: (x * y).sum())
    for i in (0, 3, 7, 11, 2, 0):
        yield f(text[i : i + 5], text[i + 1 : i + 6])


@situation("arguments sharing memory")
def a_write_into_one_window_is_seen_in_the_other(jit):
    @jit
    def f(x, y):
        x += 1
        return y * 10

    base = Tensor([float(i) for i in range(12)])
    for i, j in ((0, 1), (0, 1), (0, 6), (0, 2), (4, 1), (0, 1), (0, 6)):
        yield f(base[i : i + 3], base[j : j + 3]), base


@situation("arguments sharing memory")
def a_batch_and_its_transpose(jit):
    f = jit(lambda a, b: a @ b)
    m, n = rows(1, 3), rows(2, 3)
    for a, b in ((m, m.T), (m, m.T), (m, n), (n, n.T), (m, m), (n, n.T)):
        yield f(a, b)


@situation("arguments sharing memory")
def a_list_holds_one_tensor_twice(jit):
    @jit
    def f(xs):
        xs[0] += 1
        return xs[0] + xs[1]

    a, b = vec(1), vec(5)
    for xs in ([a, b], [a, a], [a, b], [b, b], [b, a], [a, a]):
        yield f(xs), a, b


@situation("arguments that are also state")
def the_weight_is_handed_to_its_own_step(jit):
    w, other = vec(1, 2), vec(7, 8)

    @jit
    def f(x):
        w.add_(1)
        return x * 2

    for x in (other, w, other, w, w, other, w):
        yield f(x), w


@situation("arguments that are also state")
def the_state_is_updated_by_what_was_its_argument(jit):
    s = SimpleNamespace(h=vec(1, 1))

    @jit
    def f(h):
        s.h = s.h + h
        return s.h * h

    for call in range(6):
        yield f(s.h if call % 2 else vec(2, 2)), s.h


@situation("arguments that are also state")
def a_result_is_the_next_argument(jit):
    s = SimpleNamespace(h=vec(1, 2), scale=vec(2, 2))

    @jit
    def f(h):
        s.h = h * s.scale
        return s.h

    h = s.h
    for call in range(6):
        h = f(h)
        if call == 3:
            s.scale = h
        yield h, s.h


@situation("arguments that are also state", "gradients")
def a_parameter_is_an_argument_and_in_the_optimizer(jit):
    w, v = weight(1, 2), weight(3, 4)
    sgd = optim.SGD([w], lr=0.1)

    @jit
    def step(p):
        sgd.zero_grad()
        (p * w * w).sum().backward()
        sgd.step()

    for p in (v, w, w, v, w, v):
        v.grad = None
        step(p)
        yield w, w.grad, v.grad


@situation("arguments that are also state")
def a_row_of_the_table_is_the_argument(jit):
    table = rows()

    @jit
    def f(row):
        table.mul_(2)
        return row + table.sum(0)

    for row in (vec(), table[0], table[1], vec(), table[0], table[3]):
        yield f(row)


# ---- is ------------------------------------------------------------------------------------------


@situation("is")
def whether_two_arguments_are_one(jit):
    f = jit(lambda a, b: a * 2 if a is b else a + b)
    u, v = vec(1, 2), vec(3, 4)
    for a, b in ((u, v), (u, v), (u, u), (v, u), (v, v), (u, v)):
        yield f(a, b)


@situation("is")
def whether_an_alias_over_one_memory_is_the_same(jit):
    f = jit(lambda a, b: a * 2 if a is b else a * 3)
    u = vec(1, 2)
    for b in (u, u, u.detach(), u.detach(), u, u.detach()):
        yield f(u, b)


@situation("is")
def whether_a_state_is_the_argument(jit):
    s = SimpleNamespace(last=None)
    f = jit(lambda x: x * 100 if x is s.last else x + 1)
    a, b = vec(1), vec(2)
    for x, last in ((a, None), (a, b), (b, b), (a, b), (a, a), (b, a)):
        s.last = last
        yield f(x)


@situation("is")
def whether_a_result_is_the_argument(jit):
    f = jit(lambda x: x)
    for x in (vec(1), vec(2), vec(3), vec(4)):
        yield f(x) is x


@situation("is")
def whether_a_result_is_the_state(jit):
    s = SimpleNamespace(w=vec(1, 2))

    @jit
    def f(x):
        s.w += x
        return s.w

    for call in range(6):
        if call == 3:
            s.w = vec(0, 0)
        yield f(vec(1, 1)) is s.w, s.w


@situation("is", "target networks")
def whether_two_nets_are_one(jit):
    s = SimpleNamespace(online=net(), target=net())
    f = jit(lambda x: s.online(x) - (0 if s.target is s.online else s.target(x)))
    both = s.online, s.target
    for target in (both[1], both[1], both[0], both[0], both[1], both[0]):
        s.target = target
        yield f(rows())


# ---- views that are returned ---------------------------------------------------------------------


@situation("views returned", "gradients")
def a_view_of_the_argument_is_written_and_a_gradient_asked_for(jit):
    f = jit(lambda x: x.reshape(-1))
    for call in range(4):
        big, w = vec(1, 2, 3, 4), weight(2, 2)
        part = big[:2]
        loss = (part * w).sum()
        u = f(part)
        u += 1
        try:
            loss.backward()
            yield w.grad
        except Exception as error:
            yield type(error).__name__
        yield big


@situation("views returned")
def a_row_of_the_argument_is_filled(jit):
    first = jit(lambda x: x[0])
    for call in range(5):
        x = rows(call)
        first(x).fill_(9.0)
        yield x


@situation("views returned")
def a_view_of_a_slice_shares_with_the_base(jit):
    f = jit(lambda x: x[1:])
    base = vec(*range(10))
    for i in (0, 2, 4, 1, 0):
        part = f(base[i : i + 4])
        part += 100
        yield base, part


@situation("views returned", "views of state")
def a_view_of_the_state_is_handed_out(jit):
    s = SimpleNamespace(w=rows())
    f = jit(lambda i: s.w[1])
    handed = []
    for call in range(5):
        handed.append(f(0))
        handed[-1].add_(1)
        yield s.w, handed


@situation("views returned")
def two_views_of_one_result(jit):
    @jit
    def f(x):
        y = x * 2
        return y[0], y[:, 1], y

    for call in range(5):
        a, b, y = f(rows(call))
        a += 1
        b *= 2
        yield a, b, y


@situation("views returned")
def the_kept_view_follows_the_state(jit):
    model = nn.Linear(3, 2)
    f = jit(lambda x: (model(x), model.weight.detach()[0]))
    kept = []
    for call in range(5):
        kept.append(f(rows(call)))
        model.weight.data.mul_(2)
        yield kept, state(model)
