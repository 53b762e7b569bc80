"""What a function does beside its result: it counts, logs, collects, and keeps."""

from __future__ import annotations

import array
import collections

from situations.table import labels, net, rows, situation, vec

TOTAL, SEEN = 0, []


@situation("side effects", "logging lists")
def the_history_of_losses(jit):
    model, history = net(), []

    @jit
    def step(x):
        loss = model(x).cross_entropy(labels())
        history.append(loss.detach())
        return loss

    for call in range(5):
        yield step(rows(call)), len(history)
    yield history


@situation("side effects", "logging lists")
def a_dict_of_lists_is_logged_to(jit):
    log = collections.defaultdict(list)

    @jit
    def f(x):
        log["mean"].append(x.mean())
        log["max"].append(x.max())
        return x * 2

    for call in range(5):
        yield f(rows(call)), dict(log)


@situation("logging lists")
def a_number_of_the_call_is_logged(jit):
    log = []

    @jit
    def f(x):
        log.append(len(log))
        return x + 1

    for call in range(5):
        yield f(vec()), log


@situation("logging lists")
def a_list_among_the_arguments_grows(jit):
    log = []

    @jit
    def f(x, into):
        into.append(x * 2)
        return x + 1

    for call in range(5):
        yield f(vec(call), log), log


@situation("logging lists")
def the_logger_is_an_object(jit):
    class Logger:
        def __init__(self):
            self.rows, self.step = [], 0

        def log(self, **values):
            self.step += 1
            self.rows.append({"step": self.step, **values})

    logger = Logger()

    @jit
    def f(x):
        y = x.exp()
        logger.log(loss=y.mean())
        return y

    for call in range(5):
        yield f(vec(call)), logger.rows


@situation("logging lists")
def the_log_is_emptied_each_epoch(jit):
    log = []

    @jit
    def f(x):
        log.append(x.sum())
        return x * len(log)

    for call in range(7):
        if call == 4:
            log.clear()
        yield f(vec(call)), log


@situation("side effects", "Counter")
def a_counter_counts(jit):
    counts = collections.Counter()

    @jit
    def f(x):
        counts["calls"] += 1
        return x * 2

    for _ in range(5):
        yield f(vec()), counts


@situation("side effects", "set")
def a_set_remembers_shapes(jit):
    shapes = set()

    @jit
    def f(x):
        shapes.add(tuple(x.shape))
        return x * 2

    for n in (2, 2, 3, 2, 3, 4):
        yield f(vec(*range(n))), sorted(shapes)


@situation("side effects", "set")
def a_set_is_emptied_and_filled_again(jit):
    s = set()

    @jit
    def f(x):
        s.add("called")
        return x

    for _ in range(6):
        yield f(vec()), sorted(s)
        s.clear()


@situation("side effects", "deque")
def a_deque_of_the_last_means(jit):
    last = collections.deque(maxlen=3)

    @jit
    def f(x):
        last.append(x.mean())
        return sum(last)

    for call in range(6):
        yield f(vec(call, 1)), list(last)


@situation("side effects", "array")
def an_item_of_an_array_is_added_to(jit):
    a = array.array("i", [0, 0])

    @jit
    def f(x):
        a[0] += 1
        return x + 1

    for _ in range(5):
        yield f(vec()), a.tolist()


@situation("side effects", "bytearray")
def a_flag_in_a_bytearray(jit):
    flags = bytearray(2)

    @jit
    def f(x):
        flags[1] += 1
        return x * 1

    for _ in range(5):
        yield f(vec()), bytes(flags)


@situation("side effects")
def a_global_is_counted(jit):
    global TOTAL
    TOTAL = 0

    @jit
    def f(x):
        global TOTAL
        TOTAL += 1
        return x * 2

    for _ in range(5):
        yield f(vec()), TOTAL


@situation("side effects")
def a_global_is_stored_and_never_read(jit):
    @jit
    def f(x):
        global STORED
        STORED = x.shape[0]
        return x * 2

    for n in (2, 2, 2, 3, 2):
        globals()["STORED"] = None
        yield f(vec(*range(n))), STORED  # noqa: F821


@situation("side effects")
def a_tensor_in_a_global(jit):
    @jit
    def f(x):
        global LATEST
        LATEST = x * 2
        return LATEST + 1

    for call in range(5):
        yield f(vec(call)), LATEST  # noqa: F821
