"""Bugs in what had few: schedules, averages, clipping, changes in place, the sandbox, attention."""

from mutant import Mutant

SCHEDULES, PLATEAU = "tutor/optim/schedules.py", "tutor/optim/lr_scheduler.py"
AVERAGES, CLIPPING = "tutor/optim/averages.py", "tutor/optim/clipping.py"
IN_PLACE, WRITING = "tutor/methods/inplace.py", "tutor/core/engine/writing.py"
SANDBOX = "course/sandbox.py"
ATTENTION, NORM = "tutor/ops/attention.py", "tutor/ops/norm.py"
RATES, GROUPS, REPORT = "optim/test_schedules.py", "optim/test_group.py", "course/test_report.py"

AREA_MUTANTS = [
    # ---- schedules -------------------------------------------------------------------------------
    Mutant(
        "a schedule over a schedule begins with the first one's rate", SCHEDULES,
        'group.setdefault("initial_lr", group["lr"])', 'group["initial_lr"] = group["lr"]',
        RATES, "a warm-up before a decay scales the whole training by its first rate",
    ),
    Mutant(
        "restarts grow only once", SCHEDULES,
        "t, length = t - length, length * self.T_mult",
        "t, length = t - length, self.T_0 * self.T_mult",
        RATES, "from the third cycle on rates are those of another step",
    ),
    Mutant(
        "all groups follow the first function", SCHEDULES,
        'group["lr"] = base * f(self.last_epoch)',
        'group["lr"] = base * self.lambdas[0](self.last_epoch)',
        RATES, "layers that were to be trained more slowly are not",
    ),
    Mutant(
        "an absolute threshold is a share of the best", PLATEAU,
        "abs(self.best) if self.relative else 1.0", "abs(self.best)",
        RATES, "a rate falls while the loss still does, or stays while it does not", "plateau",
    ),
    # ---- averages --------------------------------------------------------------------------------
    Mutant(
        "an average forgets how many updates there were", AVERAGES,
        "        self.count.assign(self.count + 1)\n", "",
        GROUPS, "the mean of all weights is the last of them", "average",
    ),
    Mutant(
        "an error leaves the averages in the model", AVERAGES,
        "        try:\n            yield\n        finally:\n            self.swap()",
        "        yield\n        self.swap()",
        GROUPS, "training goes on from the averages after an evaluation that failed", "swapped",
    ),
    Mutant(
        "an average shares its parameter's memory", AVERAGES,
        "self.averages = [p.detach().copy() for p", "self.averages = [p.detach() for p",
        GROUPS, "the average is what the network is", "average",
    ),
    # ---- clipping --------------------------------------------------------------------------------
    Mutant(
        "a norm of half floats is added as half floats", CLIPPING,
        "[t.cast(float32) if t.dtype.itemsize == 2 else t for t in given if t.numel()]",
        "[t for t in given if t.numel()]",
        GROUPS, "the norm of large gradients is inf, and all of them become 0", "16_bits",
    ),
    Mutant(
        "the largest gradient of all is that of the last parameter", CLIPPING,
        'total = apply("maximum", total, t.abs().max())', "total = t.abs().max()",
        GROUPS, "clipping by the largest number leaves larger ones as they are", "clipping",
    ),
    Mutant(
        "small gradients are scaled up to the norm", CLIPPING,
        'apply("minimum", largest / (total_norm + 1e-6), 1.0)', "largest / (total_norm + 1e-6)",
        GROUPS, "near a minimum each step is as long as far away from it", "clipping",
    ),
    Mutant(
        "an infinite norm is no error", CLIPPING,
        "if not math.isfinite(total.item()):", "if math.isnan(total.item()):",
        GROUPS, "error_if_nonfinite lets all gradients become 0 and nan", "norm_that",
    ),
    Mutant(
        "the norm is of the first two gradients", CLIPPING,
        "for term in terms[1:]:\n        total = total + term",
        "for term in terms[1:2]:\n        total = total + term",
        GROUPS, "gradients of a deep network are clipped to a norm above the one asked for",
        "clipping_by_norm",
    ),
    Mutant(
        "parameters that come one by one are not clipped", CLIPPING,
        '    params = several("clip_grad_norm_", parameters)', "    params = parameters",
        GROUPS, "clip_grad_norm_(p for p in ...) gives the norm, and scales nothing", "one_by_one",
    ),
    # ---- changes in place ------------------------------------------------------------------------
    Mutant(
        "sub_ leaves alpha out", IN_PLACE,
        "return isub(self, other if alpha == 1 else _times(self, other, alpha))",
        "return isub(self, other)",
        "methods/test_inplace.py", "a step by hand is as long as the gradient, whatever the rate",
    ),
    Mutant(
        "a change in place by what has a gradient is not followed", IN_PLACE,
        "given = [t for t in (x, value) if is_tensor(t)]", "given = [x]",
        "core/test_engine_writing.py",
        "out[i] = w: w gets no gradient from what out leads to, in silence",
    ),
    Mutant(
        "x @= y is y @ x", IN_PLACE,
        "lambda x: x @ other", "lambda x: other @ x",
        "methods/test_inplace.py", "right for numbers, wrong for matrices",
    ),
    Mutant(
        "a view that is changed does not tell its root", WRITING,
        "op.result() is not value or root_of(x) is not x", "op.result() is not value",
        "core/test_engine_writing.py", "x[0].relu_(): the gradient of x is that of x before",
    ),
    Mutant(
        "an older view keeps its gradient", WRITING,
        "if root.requires_grad:\n", "if False:\n",
        "core/test_engine_writing.py",
        "flat = out.view(-1), then out[i] = w: flat gives w no gradient",
    ),
    Mutant(
        "what the op saved is overwritten with its result", WRITING,
        "if op is not None and any(y.buf is x.buf for y in op.saved):", "if False:",
        "core/test_engine_writing.py", "x *= w can never be followed by backward()",
    ),
    Mutant(
        "a kept gradient stays with the value before", WRITING,
        "op.kept, x.op.kept = x.op.kept, None", "pass",
        "core/test_engine_writing.py", "x.grad is that of x before it was changed",
    ),
    Mutant(
        "a part is put somewhere else", WRITING,
        '"start": x.offset - root.offset', '"start": 0',
        "core/test_engine_writing.py", "x[1] += y: the gradient goes to x[0]",
    ),
    Mutant(
        "the result of a replay does not know whose view it is", "tutor/programs/results.py",
        "made[view]._base = ref(made[root])", "pass",
        "programs/test_jit_views.py", "y, y[0] of a jitted function: a change of y[0] is lost to y",
    ),
    # ---- the sandbox -----------------------------------------------------------------------------
    Mutant(
        "an answer lives on when its judge has ended", SANDBOX,
        "_prctl(PR_SET_PDEATHSIG, signal.SIGKILL)", "pass",
        "course/test_sandbox.py",
        "a report that is interrupted leaves answers running that wait for ever",
    ),
    Mutant(
        "a submission learns the whole environment", SANDBOX,
        "kept = {name: os.environ[name] for name in passed if name in os.environ}",
        "kept = dict(os.environ)",
        REPORT, "tokens of whoever marks a class are read by its submissions", "neither",
    ),
    Mutant(
        "a submission sees the others of its class", SANDBOX,
        '_mount("tmpfs", str(hide), "tmpfs", 0)', "pass",
        REPORT, "answers are copied from whoever has handed in first", "neither",
    ),
    Mutant(
        "a submission sees all processes", SANDBOX,
        '_mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV)', "pass",
        REPORT, "command lines and environments of others can be read", "apart_sees",
    ),
    Mutant(
        "what a submission has started goes on", SANDBOX,
        "os.killpg(started.pid, signal.SIGKILL)", "os.kill(started.pid, signal.SIGKILL)",
        REPORT, "a marked class leaves programs behind that nobody knows of", "started",
    ),
    Mutant(
        "a submission may start any number of processes", SANDBOX,
        "(resource.RLIMIT_NPROC, count),", "",
        REPORT, "a fork that calls itself stops the machine", "its_limits",
    ),
    Mutant(
        "what a submission says has no end", SANDBOX,
        "while len(found) < MOST:", "while True:",
        REPORT, "a file that prints for ever takes the memory of whoever marks it", "too_much",
    ),
    Mutant(
        "a submission keeps the rights of root", SANDBOX,
        "if _libc().prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):", "if True:",
        REPORT, "it can mount again what was hidden from it", "apart_sees",
    ),
    Mutant(
        "a verdict's FIFO can be found by looking", "course/children.py",
        "        os.chmod(folder, 0o300)  # no listing\n", "",
        REPORT, "an answer writes its own verdict, and never ends", "wherever",
    ),
    Mutant(
        "pixels of a large image are counted in float32", "tutor/nn/grids.py",
        "if each < 1 << 24 else", "if each < 1 << 60 else",
        "nn/test_grids.py", "behind 2**24 pixels every second one is its neighbour",
        "told_apart",
    ),
    # ---- attention and norms ---------------------------------------------------------------------
    Mutant(
        "the second derivative of attention leaves out the keys' scale", ATTENTION,
        "return ds @ k * scale, ds.mT @ q * scale, p.mT @ g, ds",
        "return ds @ k * scale, ds.mT @ q, p.mT @ g, ds",
        "ops/test_ops.py::test_derivatives_of_first_and_second_order",
        "a gradient penalty on a transformer pulls its keys too far", "attention",
    ),
    Mutant(
        "rows that see nothing are nan where weights are dropped", ATTENTION,
        'return apply("where", nothing, 0.0, apply("where", nothing, 0.0, scores).softmax(-1))',
        "return scores.softmax(-1)",
        "nn/test_norm.py", "a batch with one sequence of padding alone makes all weights nan",
        "bias_of",
    ),
    Mutant(
        "a bias of attention has no gradient", ATTENTION,
        "if is_grad_enabled() or self.needs[3]:", "if is_grad_enabled():",
        "nn/test_norm.py", "relative positions are never learned, in silence", "bias_of",
    ),
    Mutant(
        "the second derivative of rms_norm is that of layer_norm", NORM,
        "away = x - x.mean(-1, keepdims=True) if self.centred else x",
        "away = x - x.mean(-1, keepdims=True)",
        "ops/test_ops.py::test_derivatives_of_first_and_second_order",
        "a gradient penalty on a network with RMS norm is another one's", "norm",
    ),
    Mutant(
        "the second derivative of group_norm forgets the weight", NORM,
        "h, a = away / root, (g * w.unsqueeze(-1)).reshape(rows)",
        "h, a = away / root, g.reshape(rows)",
        "ops/test_ops.py::test_derivatives_of_first_and_second_order",
        "a gradient penalty on a network with group norm is another one's", "group_norm",
    ),
    Mutant(
        "half floats are not widened for a batch norm's second derivative", NORM,
        "dtype, g, x, w = x.buf.dtype, wide(g), wide(x), wide(w)\n        axes = (0, 2)",
        "dtype = x.buf.dtype\n        axes = (0, 2)",
        "nn/test_norm.py", "gradients of channels far from 0 are off by some per cent",
        "half_floats_is_the_same",
    ),
    Mutant(
        "the slope of rms_norm loses its mean", NORM,
        "level = a.mean(axes, keepdims=True) if centred else 0.0",
        "level = a.mean(axes, keepdims=True)",
        "ops/test_ops.py::test_derivatives_of_first_and_second_order",
        "the gradient of rms_norm, differentiated again, is that of another norm", "norm",
    ),
]  # fmt: skip
