"""Bugs for which nothing need be built. First those that once went unnoticed."""

from mutant import Mutant
from parallel_mutants import PARALLEL_MUTANTS
from pass_mutants import PASS_MUTANTS
from rank_mutants import RANK_MUTANTS

ENGINE, ELEMENTWISE = "tutor/core/engine/backward.py", "tutor/ops/elementwise.py"
REDUCE, MOVEMENT = "tutor/ops/reduce.py", "tutor/ops/movement.py"
SELECTION, LAYOUT = "tutor/methods/selection.py", "tutor/ground/layout.py"

PYTHON_MUTANTS = [
    *PASS_MUTANTS,
    *RANK_MUTANTS,
    *PARALLEL_MUTANTS,
    # ---- the walk backward -----------------------------------------------------------------------
    Mutant(
        "an expanded gradient is kept", ENGINE,
        "g.copy() if id(g.buf) in handed_out or 0 in g.strides else g",
        "g.copy() if id(g.buf) in handed_out else g",
        "core/test_engine.py",
        "x.sum().backward() leaves a .grad that cannot be changed in place: clipping it fails",
    ),
    Mutant(
        "two leaves share one gradient", ENGINE,
        "g.copy() if id(g.buf) in handed_out or 0 in g.strides else g",
        "g.copy() if 0 in g.strides else g",
        "core/test_engine.py",
        "((a + b) * 2).sum(): scaling a.grad in place scales b.grad, too",
    ),
    Mutant(
        "a mean over three axes counts two", REDUCE,
        'count = math.prod(x.shape[a] for a in self.params["axis"])',
        'count = math.prod(x.shape[a] for a in self.params["axis"][:2])',
        "ops/test_ops.py::test_derivatives_of_first_and_second_order",
        "the gradient of a mean over an image's axes is too large by one of its sizes",
    ),
    Mutant(
        "broadcasting is not undone for an axis of size 1", ENGINE,
        "if axis < extra or (size != 1 and x.shape[axis - extra] == 1)", "if axis < extra",
        "core/test_engine.py",
        "the gradient of a column that was stretched over a matrix is refused, or has its shape",
    ),
    Mutant(
        "the second gradient takes the place of the first", ENGINE,
        "pending[node] = gx if before is None else before + gx", "pending[node] = gx",
        "core/test_engine.py",
        "x * x has slope x: whatever is used twice learns from one use alone",
    ),
    Mutant(
        "backward() forgets the .grad that was there", ENGINE,
        "new = [g if o is None else o + g for", "new = [g for",
        "core/test_engine.py",
        "accumulating gradients over several small batches uses the last one only",
    ),
    Mutant(
        "the graph is kept after the walk", ENGINE,
        "op.saved, op.inputs, op.states = None, (), ()", "pass",
        "core/test_engine.py",
        "activations of every step stay in memory as long as its loss does",
    ),
    Mutant(
        "a change in place is not noticed", ENGINE,
        "if op.states and op.states != tuple(map(state_of, op.saved or ())):", "if False:",
        "core/test_engine.py",
        "a gradient is computed from numbers that were overwritten since",
    ),
    Mutant(
        "writing does not count as a change", "tutor/core/engine/forward.py",
        "target.buf.touch()\n        self.call(\"copy\"", "self.call(\"copy\"",
        "core/test_engine.py",
        "x[0] = 1 between forward and backward goes unnoticed",
    ),
    Mutant(
        "a hook's gradient is thrown away", ENGINE,
        "if other is None:\n                continue", "if True:\n                continue",
        "functions/test_custom.py",
        "a hook that clips gradients clips nothing",
    ),
    Mutant(
        "the output of an op is linked as a constant in a second derivative", ENGINE,
        "saved[i].op, saved[i].requires_grad = op, True", "pass",
        "ops/test_ops.py::test_derivatives_of_first_and_second_order",
        "second derivatives of exp, tanh, softmax are wrong",
    ),
    # ---- formulas of derivatives -----------------------------------------------------------------
    Mutant(
        "x - y has slope 1 for y", ELEMENTWISE,
        "return g, -g if self.needs[1] else None\n\n\nclass Mul",
        "return g, g if self.needs[1] else None\n\n\nclass Mul",
        "ops/test_ops.py::test_derivatives_of_first_and_second_order",
        "every difference pulls its second operand the wrong way",
    ),
    Mutant(
        "a tie of maximum gives both all", ELEMENTWISE,
        "g * 0.5, 0.0)", "g, 0.0)",
        "ops/test_ops.py::test_ties_share_the_gradient_evenly",
        "maximum(x, x) has slope 2",
    ),
    Mutant(
        "the largest of several equals share nothing", REDUCE,
        "return chosen * self.stretched(g, x) / chosen.sum(axis=axis, keepdims=True)",
        "return chosen * self.stretched(g, x)",
        "ops/test_ops.py::test_ties_share_the_gradient_evenly",
        "a row of equal numbers has a gradient as many times too large",
    ),
    Mutant(
        "0 ** y has slope nan", ELEMENTWISE,
        "apply(\"where\", (x == 0) * (y >= 0), 1.0, x).log()", "x.log()",
        "ops/test_ops.py::test_slopes_at_the_edges",
        "one zero in the base makes every weight nan",
    ),
    Mutant(
        "softmax's gradient is summed over the last axis always", "tutor/ops/fused.py",
        'return z * (g - (g * z).sum(axis=self.params["axis"], keepdims=True))',
        "return z * (g - (g * z).sum(axis=-1, keepdims=True))",
        "ops/test_ops.py::test_derivatives_of_first_and_second_order",
        "attention over any other axis learns wrongly",
    ),
    Mutant(
        "the recurrence's gradient is not moved by one", "tutor/ops/scan.py",
        "after = shifted(x.expand(z.shape), -1, axis)", "after = x.expand(z.shape)",
        "ops/test_ops.py::test_derivatives_of_first_and_second_order",
        "the gradient of a running product multiplies by the wrong factor",
    ),
    Mutant(
        "of several writes to one place the first has the gradient", "tutor/ops/indexing.py",
        'stays = apply("gather", writer, index, axis=axis) == order',
        'stays = apply("gather", writer, index, axis=axis) >= order',
        "ops/test_ops.py ops/rows_indexing.py",
        "numbers that were overwritten learn, though nobody sees them",
    ),
    Mutant(
        "an index_select of one row twice overwrites", "tutor/ops/indexing.py",
        'return apply("scatter_add", x.like(0), spread, g, axis=axis), None',
        'return apply("scatter", x.like(0), spread, g, axis=axis), None',
        "methods/test_selection.py::test_gradients_add_up_where_an_element_was_chosen_twice",
        "a word that stands in a sentence twice learns from one place alone",
    ),
    Mutant(
        "permute goes back the way it came", MOVEMENT,
        "axes=tuple(order.index(a) for a in range(len(order))))", "axes=order)",
        "ops/test_ops.py::test_derivatives_of_first_and_second_order",
        "right for two axes, wrong for a cycle of three",
    ),
    Mutant(
        "a kernel's gradient is not turned", "tutor/methods/windows.py",
        ".flip((2, 3))\n", "\n",
        "nn/test_functional.py",
        "convolutions learn mirrored filters",
    ),
    Mutant(
        "padding 'same' puts the odd one in front", "tutor/methods/windows.py",
        "return tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)",
        "return tuple(t - t // 2 for t in total), tuple(t // 2 for t in total)",
        "nn/test_functional.py",
        "pictures move by one pixel against PyTorch's where the kernel is even",
    ),
    # ---- windows and norms -----------------------------------------------------------------------
    Mutant(
        "output_padding must be below the stride, though the dilation is larger",
        "tutor/methods/windows.py", "e >= max(s, d)", "e >= s",
        "nn/test_functional.py::test_conv_transpose_is_its_definition",
        "a decoder with dilated transposed convolutions is refused",
    ),
    Mutant(
        "a transposed convolution takes the first stride for all axes", "tutor/methods/windows.py",
        "step=step[i], dilation=gap[i])", "step=step[0], dilation=gap[i])",
        "nn/test_functional.py::test_conv_transpose_is_its_definition",
        "volumes that are finer along one axis than along another are put together wrongly",
    ),
    Mutant(
        "batch norm evaluates half floats as half floats", "tutor/nn/functional/norms.py",
        "(widened(x) * beside(scale, x) + beside(shift, x)).cast(x.dtype)",
        "x * beside(scale, x).cast(x.dtype) + beside(shift, x).cast(x.dtype)",
        "nn/test_norms.py", "a float16 model loses digits in every layer, in evaluation alone",
        only="half_floats",
    ),
    Mutant(
        "rms_norm of float64 takes the eps of float32", "tutor/nn/functional/norms.py",
        "least = (float64 if x.dtype is float64 else float32).eps", "least = float32.eps",
        "nn/test_norms.py", "small numbers are normed to something else than in PyTorch",
        only="without_eps",
    ),
    # ---- indexing and layout ---------------------------------------------------------------------
    Mutant(
        "an index may be the size itself", SELECTION,
        'engine.call("index_select", int64, out, zeros, flat, axis=axis)', "seen = flat - flat",
        "methods/test_selection.py",
        "reads or writes beyond the end of an axis, into the next row",
    ),
    Mutant(
        "an Ellipsis does not separate index arrays", SELECTION,
        "inside = is_array\n", "inside = inside or is_array\n",
        "methods/test_selection.py",
        "x[i, ..., j] has its axes in another order than NumPy's",
    ),
    Mutant(
        "a mask counts as one axis", SELECTION,
        'return part.ndim if getattr(part, "dtype", int64).kind == "bool" else 1', "return 1",
        "methods/test_selection.py",
        "x[mask, 0] takes the wrong axis",
    ),
    Mutant(
        "an axis of size 1 keeps a step of 2**62", LAYOUT,
        "stride * step if count > 1 else stride)", "stride * step)",
        "ground/test_layout.py ground/test_border.py",
        "x[:1:2**62] has a stride whose bytes overflow in C and in NumPy",
    ),
    Mutant(
        "an axis of size 1 breaks contiguity", LAYOUT,
        "if size != 1:\n            if stride != step:", "if True:\n            if stride != step:",
        "ground/test_layout.py",
        "x[:, None] is copied where a view would do",
    ),
    Mutant(
        "a reshape merges axes that do not continue each other", LAYOUT,
        "if runs and runs[-1][1] == stride * size:", "if runs and runs[-1][1] >= stride * size:",
        "core/test_tensor.py ops/test_ops.py methods",
        "x[:, :2].reshape(-1) shows elements between the columns",
    ),
    Mutant(
        "a negative step reaches below the Buffer", LAYOUT,
        "if low < 0 or high >= length:", "if high >= length:",
        "ground/test_layout.py core/test_tensor.py",
        "a forged layout reads memory of others",
    ),
    Mutant(
        "an expanded view can be written to", LAYOUT,
        "if any(n > 1 and s == 0 for n, s in zip(shape, strides, strict=True)):", "if False:",
        "core/test_tensor.py ground/test_layout.py",
        "one number takes the last of several values, in silence",
    ),
    # ---- dtypes ----------------------------------------------------------------------------------
    Mutant(
        "int8 and uint8 meet in int8", "tutor/dtype.py",
        "return {1: int16, 2: int32, 4: int64, 8: float64}[unsigned.itemsize]",
        "return {1: signed, 2: int32, 4: int64, 8: float64}[unsigned.itemsize]",
        "test_dtype.py",
        "200 + 1 becomes negative",
    ),
    Mutant(
        "a Python number widens float16", "tutor/dtype.py",
        "return beside if RANK[beside.kind] >= RANK[own.kind] else own",
        "return beside if RANK[beside.kind] > RANK[own.kind] else own",
        "test_dtype.py",
        "x * 2.0 turns a float64 tensor into float32",
    ),
    Mutant(
        "python_ref rounds an int to bfloat16 twice", "tutor/ground/bits.py",
        "if 0 < abs(number) < 1e300:", "if isinstance(number, float) and 0 < abs(number) < 1e300:",
        "test_dtype.py backends/test_same_bits.py",
        "the definition of what is right is off by a bit at ties",
    ),
    Mutant(
        "a nan becomes an infinite bfloat16", "tutor/ground/bits.py",
        "return bits >> 16 | quiet", "return 0x7F80 if quiet else bits >> 16",
        "test_dtype.py backends/test_same_bits.py",
        "what went wrong in a network looks like a large number",
    ),
    # ---- python_ref: the definition --------------------------------------------------------------
    Mutant(
        "Adam's eps is added before the correction", "tutor/backends/python_ref/optimizer.py",
        "div(sqrt(vi), correction) + eps", "div(sqrt(vi) + eps, correction)",
        "optim/test_optimizer.py",
        "the first steps of Adam are another algorithm's where gradients are small",
    ),
    Mutant(
        "Adam corrects by the step before", "tutor/backends/python_ref/optimizer.py",
        "1 - power(beta1, count + 1.0)", "1 - power(beta1, max(count, 1.0))",
        "optim/test_optimizer.py",
        "every step but the first is too long",
    ),
    Mutant(
        "weight decay leaves the velocity out", "tutor/backends/python_ref/optimizer.py",
        "[momentum * vi + di for vi, di in", "[momentum * vi + (1 - momentum) * di for vi, di in",
        "optim/test_optimizer.py",
        "momentum is another formula than PyTorch's: ten times smaller steps",
    ),
    Mutant(
        "the cross entropy of python_ref overflows", "tutor/backends/python_ref/fused.py",
        "log_norm = log(total([exp(value - largest) for value in x]))",
        "log_norm = log(total([exp(value) for value in x])) - largest",
        "ops/test_ops.py::test_cross_entropy_is_stable_for_huge_logits",
        "a confident network has an infinite loss",
    ),
    Mutant(
        "a random stream forgets its counter", "tutor/random.py",
        "*self.cells, blocks=blocks)", "*self.cells, blocks=0)",
        "test_tiny.py core/test_tensor.py ops/test_ops.py nn/test_modules.py",
        "all layers begin with the same weights",
    ),
    Mutant(
        "the count of steps stands still", "tutor/optim/optimizer.py",
        "self.count.wrap(1, uint64)", "self.count.wrap(0, uint64)",
        "nn/test_again.py",
        "Adam corrects each step as if it were the first",
    ),
    # ---- registry, memory, exchange --------------------------------------------------------------
    Mutant(
        "a new table leaves kernels of the last one in place", "tutor/backends/registry.py",
        "        backend.kernels = {}", "        pass",
        "backends/test_registry.py",
        "a backend that is registered again goes on with its old kernels",
    ),
    Mutant(
        "an observer is shown what it computes itself", "tutor/backends/step.py",
        "_observing.set(True)", "_observing.set(False)",
        "backends/test_step.py",
        "who looks at a result in an observer is called by his own look, without an end",
    ),
    Mutant(
        "an observer may leave the kernel out", "tutor/backends/step.py",
        "if len(calls) != 1:", "if len(calls) > 1:",
        "backends/test_step.py",
        "a watch that forgets go() turns results into what memory held before",
    ),
    Mutant(
        "an interrupted profile goes on", "tutor/watching/profiler.py",
        "self.ends = weakref.ref(leave, self.unlock)", "self.ends = weakref.ref(leave)",
        "watching/test_profiler.py",
        "every later kernel call is written down, until memory is full",
    ),
    Mutant(
        "a Buffer's arithmetic goes past the Steps", "tutor/backends/arithmetic.py",
        "        emit(step)\n", "        registry.kernel(kernel, self.dtype)(whole, *step.ins)\n",
        "backends/test_step.py",
        "a recorded training step leaves out what is done to p.buf.data",
    ),
    Mutant(
        "max of nothing is asked of the kernel", "tutor/backends/forms.py",
        'signature.work == "chooses" and', 'signature.work == "choses" and',
        "test_messages.py",
        "the maximum of no elements is whatever stood in memory",
    ),
    Mutant(
        "an axis of a scan is counted by its first operand", "tutor/backends/forms.py",
        'form in ("elementwise", "scan")', 'form in ("elementwise",)',
        "ops/test_dtypes.py",
        "cumsum fails, for its constant 1 has no axes",
    ),
    Mutant(
        "a promise of memory is kept anew for everyone who asks", "tutor/ground/memory.py",
        'elif not exchange((buf,), "memory", (promise,), (memory,)):', "elif False:",
        "core/test_buffer.py",
        "each look at a result calculates it again, and a change of it is lost",
    ),
    Mutant(
        "who overwrites does not wait for who is still to read", "tutor/programs/promises.py",
        "for reader in value.waiting() if reader is not noted]", "for reader in ()]",
        "programs/test_promises.py",
        "y = x * 2; x += 1 in a lazy block: y is twice the new x",
    ),
    Mutant(
        "what an array of NumPy's shares is put off, too", "tutor/ground/memory.py",
        "return _references(buf) == _FEWEST", "return True",
        "programs/test_promises.py",
        "the array shows the numbers from before a change in place",
    ),
    Mutant(
        "a step that a Python kernel was interrupted in has half happened",
        "tutor/programs/promises.py",
        "plain = not watchers() and simd_cpp.is_native(kernel)", "plain = True",
        "programs/test_promises.py",
        "x += 1 is added twice after Ctrl-C",
    ),
    Mutant(
        "the border takes memory of another dtype", "tutor/ground/border.py",
        "if dtype.format != memory.format:", "if False:",
        "ground/test_border.py",
        "bytes of integers are read as floats, without a word",
    ),
    Mutant(
        "memory that is lent read-only says nothing of it", "tutor/methods/dlpack.py",
        "READ_ONLY * walk.memory.readonly", "0 * walk.memory.readonly",
        "methods/test_dlpack.py",
        "another library overwrites the constant 2 of every x * 2",
    ),
    Mutant(
        "read-only memory is borrowed as writable", "tutor/methods/dlpack.py",
        "memory.toreadonly() if readonly else memory", "memory",
        "methods/test_dlpack.py",
        "an array that somebody has protected is overwritten",
    ),
    Mutant(
        "memory walked backwards begins at its end", "tutor/methods/dlpack.py",
        "+ tensor.byte_offset - before * dtype.itemsize", "+ tensor.byte_offset",
        "methods/test_dlpack.py",
        "a reversed array of another library is read beyond its memory",
    ),
    Mutant(
        "a constant's memory is one for 0.0 and -0.0", "tutor/core/tensor.py",
        "if value == 0 and math.copysign(1, value) < 0:", "if False:",
        "ops/test_ops.py::test_numbers_keep_their_sign_and_cannot_be_overwritten",
        "1 / -0.0 depends on which zero came first",
    ),
    # ---- files, data, training -------------------------------------------------------------------
    Mutant(
        "a checkpoint is written straight over the old one", "tutor/nn/checkpoint.py",
        "files.write_whole(path, fill)",
        "Path(path).parent.mkdir(parents=True, exist_ok=True)\n"
        '    with open(path, "wb") as file:\n        fill(file)',
        "nn/test_checkpoint.py",
        "a full disk or a power cut leaves neither the old nor the new one",
    ),
    Mutant(
        "the header of a checkpoint is not filled up to 8 bytes", "tutor/nn/checkpoint.py",
        'return packed + b" " * (-len(packed) % 8)', "return packed",
        "nn/test_checkpoint.py",
        "other readers map the file: their numbers are not aligned",
    ),
    Mutant(
        "a view is saved with its whole Buffer", "tutor/nn/checkpoint.py",
        "numbers = t.detach().copy().cpu().buf.raw",
        "numbers = (t.detach() if t.is_contiguous() else t.detach().copy()).cpu().buf.raw",
        "nn/test_checkpoint.py",
        "the numbers of all tensors behind it stand in the wrong place",
    ),
    Mutant(
        "a resumed optimizer counts its steps from 0", "tutor/optim/optimizer.py",
        "self.steps = steps", "self.steps = 0",
        "optim/test_optimizer.py test_train_mnist.py",
        "Adam's correction begins anew: a jump in the loss after --resume",
    ),
    Mutant(
        "every epoch has the order of the first", "tutor/random.py",
        "_PERMUTATIONS + (round << 32)", "_PERMUTATIONS",
        "data/test_loader.py",
        "shuffling shuffles once",
    ),
    Mutant(
        "the last, shorter batch is left out", "tutor/data/loader.py",
        "n - size + 1 if drop_last else n", "n - size + 1",
        "data/test_loader.py",
        "some examples are never seen",
    ),
    Mutant(
        "a loss of (N,) against (N, 1) is broadcast", "tutor/nn/functional/losses.py",
        "if beside.shape != input.shape:", "if False:",
        "nn/test_functional.py",
        "every prediction is compared with every target",
    ),
    Mutant(
        "ignored targets count in the mean", "tutor/nn/functional/losses.py",
        'counts = apply("where", ignored, 0.0, counts)', "pass",
        "nn/test_functional.py",
        "padding at the end of sentences makes the loss smaller",
    ),
    # ---- programs --------------------------------------------------------------------------------
    Mutant(
        "a temp is over as soon as it is written", "tutor/programs/plan.py",
        "Life(found[slot].first if slot in found else number, number)",
        "found.get(slot, Life(number, number))",
        "programs/test_plan.py",
        "what the backward pass needs has been written over",
    ),
    Mutant(
        "a step's result takes the place of what it reads", "tutor/programs/plan.py",
        "if other_first <= last and first <= other_last:",
        "if other_first < last and first < other_last:",
        "programs/test_plan.py",
        "a product reads numbers that it has written itself",
    ),
    # ---- the course ------------------------------------------------------------------------------
    Mutant(
        "the judge is 100 times too lenient", "course/compare.py",
        "size <= atol + rtol * _size", "size <= atol + 100 * rtol * _size",
        "course/test_check.py",
        "a wrong formula passes, and a learner believes in it",
    ),
    Mutant(
        "the judge lets nan pass", "course/compare.py",
        "within = math.isfinite(size) and size <= atol", "within = not size > atol",
        "course/test_check.py",
        "an answer that divides by zero is right",
    ),
    Mutant(
        "ending Python is a pass", "course/answers.py",
        "if not result.is_file():", "if not result.is_file() and ended.returncode > 1:",
        "course/test_shell.py",
        "a file that calls os._exit(0) passes every exercise",
    ),
    Mutant(
        "an update writes over what lies beside a copy", "course/copies.py",
        'if _sha(last.read_bytes()) == entry.get("beside_sha256"):', "if last.read_bytes():",
        "course/test_update.py",
        "what a learner has written into the newer version is gone",
    ),
    Mutant(
        "a report counts a later wrong answer", "course/report.py",
        "and kind in KINDS and not self.passed(id):", "and kind in KINDS:",
        "course/test_report.py",
        "an exercise that was handed in twice passes or not by the order of the files",
    ),
    Mutant(
        "a row of the host goes along to a device", "tutor/backends/transfers.py",
        "if name == CPU and not is_constant(operands[i]):", "if False:",
        "devices/test_devices.py",
        "a kernel of the device is handed memory that it cannot reach",
    ),
    Mutant(
        "a gradient stays on another device", "tutor/core/engine/backward.py",
        "return gx if gx.buf.device == x.buf.device else moved(gx, x.buf.device)", "return gx",
        "devices/test_devices.py",
        "an optimizer is asked to move a parameter by a gradient that is elsewhere",
    ),
    Mutant(
        "two fills on two devices are one", "tutor/programs/passes/common.py",
        "where = step.device, step.out.buf.dtype", "where = step.out.buf.dtype",
        "devices/test_learning.py",
        "what a recorded call makes on the one device is read on the other",
    ),
    Mutant(
        "the state of an optimizer stays behind", "tutor/optim/optimizer.py",
        "if p.buf.device != t.buf.device and (t.shape or not p.shape):", "if False:",
        "devices/test_learning.py",
        "a model that was moved cannot be trained any more",
    ),
]  # fmt: skip
