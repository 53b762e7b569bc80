"""Numbers that are asked for in a function, and refusals that the function catches."""

from __future__ import annotations

import contextlib

from situations.table import rows, situation, vec
from tutor import Tensor


@situation("swallowed refusals")
def item_in_a_try(jit):
    @jit
    def f(x):
        try:
            s = x.sum().item()
        except Exception:
            s = 0.0
        return x + s

    for call in range(5):
        yield f(vec(call, 1))


@situation("swallowed refusals")
def item_in_a_bare_except(jit):
    @jit
    def f(x):
        try:
            k = float(x.max())
        except:  # noqa: E722
            k = 1.0
        return x * k

    for call in range(5):
        yield f(vec(call, 1))


@situation("swallowed refusals")
def item_is_suppressed(jit):
    @jit
    def f(x):
        k = 1.0
        with contextlib.suppress(Exception):
            k = x.sum().item()
        return x * k

    for call in range(5):
        yield f(vec(call, 1))


@situation("swallowed refusals")
def finally_returns(jit):
    @jit
    def f(x):
        y = x
        try:
            y = x * x.sum().item()
        finally:
            return y

    for call in range(5):
        yield f(vec(call, 1))


@situation("swallowed refusals")
def a_context_manager_swallows(jit):
    class Quiet:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return True

    @jit
    def f(x):
        y = x
        with Quiet():
            y = x * x.tolist()[0]
        return y

    for call in range(1, 6):
        yield f(vec(call, 1))


@situation("swallowed refusals")
def a_decision_in_a_try(jit):
    @jit
    def f(x):
        try:
            return x * 2 if x.sum() > 2 else x
        except RuntimeError:
            return x - 100

    for call in range(6):
        yield f(vec(call, 1))


@situation("swallowed refusals")
def a_helper_swallows(jit):
    def number(t, default):
        try:
            return t.item()
        except Exception:
            return default

    f = jit(lambda x: x + number(x.mean(), 1000.0))
    for call in range(5):
        yield f(vec(call, 1))


@situation("swallowed refusals")
def a_text_in_a_try(jit):
    @jit
    def f(x):
        try:
            width = len(str(x))
        except Exception:
            width = 1
        return x * width

    for call in range(5):
        yield f(vec(10**call))


@situation("swallowed refusals")
def a_mask_in_a_try(jit):
    @jit
    def f(x):
        try:
            return x[x > 0].sum()
        except Exception:
            return x.sum()

    for call in range(5):
        yield f(rows(call))


# ---- numbers in the middle -----------------------------------------------------------------------


@situation("numbers read in the middle")
def a_loss_is_read_as_a_number(jit):
    @jit
    def f(x):
        return (x * 2).sum().item()

    for call in range(5):
        yield f(vec(call, 1))


@situation("numbers read in the middle")
def a_branch_on_a_sum(jit):
    f = jit(lambda x: x * 2 if x.sum() > 2 else -x)
    for call in (0, 0, 0, 5, 5, 0):
        yield f(vec(call, 1))


@situation("numbers read in the middle")
def a_loop_until_it_is_small(jit):
    @jit
    def f(x):
        steps = 0
        while x.abs().max() > 1:
            x = x / 2
            steps += 1
        return x, steps

    for call in (1, 2, 4, 9, 1, 30):
        yield f(vec(call, 1))


@situation("numbers read in the middle")
def a_scale_that_is_a_number(jit):
    @jit
    def f(x):
        norm = x.norm().item()
        return x / max(norm, 1.0), norm

    for call in range(5):
        yield f(vec(call, 1))


@situation("numbers read in the middle")
def an_index_that_is_a_number(jit):
    f = jit(lambda x: x[int(x.sum(1).argmax())])
    for call in range(5):
        yield f(rows(call))


@situation("numbers read in the middle")
def the_numbers_as_a_list(jit):
    f = jit(lambda x: sorted(x.tolist()))
    for call in range(5):
        yield f(vec(call, 3, 1))


@situation("numbers read in the middle")
def a_text_of_the_numbers(jit):
    f = jit(lambda x: (x * 2, f"{x.sum().item():.3f}"))
    for call in range(5):
        yield f(vec(call, 1))


@situation("numbers read in the middle", needs="numpy")
def there_and_back_through_numpy(jit):
    import numpy as np

    f = jit(lambda x: Tensor(np.sort((x * 2).numpy())) + 1)
    for call in range(5):
        yield f(vec(call, 3, 1))


@situation("numbers read in the middle")
def a_count_that_gives_a_shape(jit):
    f = jit(lambda x: x[x > 0] * 2)
    for call in range(5):
        yield f(rows(call))
