"""Bugs in C++: each is built, for one level, before its tests run."""

from mutant import Mutant

SHORTCUT = "programs/test_shortcut.py"
CPP = "tutor/backends/simd_cpp"
AGREE = "backends/test_agree.py::test_agrees"
BLOCKS = "backends/test_block_sizes.py::test_both_sides_of_a_block_boundary"
SAME = "backends/test_same_bits.py::test_"

NATIVE_MUTANTS = [
    # ---- sums and products -----------------------------------------------------------------------
    Mutant(
        "a sum by columns is added up in another order", f"{CPP}/kernels/reduce.cpp",
        "offset[0] = p * terms.stride[0][0];", "offset[0] = (p ^ (p < 2)) * terms.stride[0][0];",
        SAME + "sums_by_rows_and_by_columns_are_one_tree",
        "the same numbers have another sum when they are transposed",
    ),
    Mutant(
        "a later block of a product takes the place of the first", f"{CPP}/kernels/gemm.hpp",
        "kernel(here, a_panel, a_row, a_col, b_sliver, b_row, to, sums_row, p > 0, last);",
        "kernel(here, a_panel, a_row, a_col, b_sliver, b_row, to, sums_row, false, last);",
        "backends/test_matmul_steps.py",
        "products over more than 384 numbers lose all but the last of them",
    ),
    Mutant(
        "the edge of a product forgets the blocks before", f"{CPP}/kernels/gemm.hpp",
        "copy_few(width, edge + r * SLIVER<F>, to + r * sums_row);",
        "copy_few(width, edge + r * SLIVER<F>, to);",
        "backends/test_matmul_steps.py " + AGREE,
        "the last columns of a large product are wrong, where their number is no multiple of 8",
        only="matmul",
    ),
    Mutant(
        "a tile of a product is finished with the first tile's bias", f"{CPP}/kernels/gemm.hpp",
        "c.block(i, j, height, width), finish.at(i, j));", "c.block(i, j, height, width), finish);",
        "backends/test_matmul_steps.py::test_every_tile_of_a_layer_has_its_own_part_of_the_bias",
        "wide layers add the wrong bias to all columns but the first tile's",
    ),
    Mutant(
        "what is left of a reduction's row is left out", f"{CPP}/kernels/reducer.hpp",
        "convert_row(left, rest, x + n - left);",
        "convert_row(left - (left > 3), rest, x + n - left);",
        AGREE,
        "sums of lengths that fill no vector are short of a number",
        only="sum",
    ),
    # ---- loops -----------------------------------------------------------------------------------
    Mutant(
        "the end of an elementwise row is read too early", f"{CPP}/kernels/elementwise.hpp",
        "last_x = load_as<C>(x + n - L)", "last_x = load_as<C>(x + n - L - (n > 64))",
        AGREE,
        "the last numbers of a long tensor are those of the places before them",
        only="exp",
    ),
    Mutant(
        "the end of a row that is changed in place is changed twice", f"{CPP}/kernels/mul_add.cpp",
        "store(z + n - L, last);", "store(z + n - L, at(n - L));",
        AGREE,
        "pictures that are scaled in the memory they stand in are wrong at the end of each row",
        only="mul_add",
    ),
    Mutant(
        "what is added is taken to stand still with the factor", f"{CPP}/kernels/mul_add.cpp",
        "step[2] == 0 && step[3] == 0", "step[2] == 0",
        AGREE,
        "a matrix, scaled by rows, has the first number of another matrix's row added to all of it",
        only="mul_add",
    ),
    Mutant(
        "the last chunk of an elementwise loop is short of a block", f"{CPP}/walk/each.cpp",
        "smaller(blocks, (chunk + 1) * per_chunk)",
        "smaller(blocks - (chunk > 0), (chunk + 1) * per_chunk)",
        BLOCKS,
        "the end of a large tensor is what stood in memory before",
        only="grain",
    ),
    Mutant(
        "a shorter block is taken for the one before", f"{CPP}/walk/each.cpp",
        "content.from == at && content.rows == rows && content.columns == columns",
        "content.from == at",
        AGREE + " backends/test_properties.py backends/test_long_lines.py",
        "a row that is added to a matrix is wrong at the right edge",
        only="add or every_level",
    ),
    Mutant(
        "a transposed copy turns one square too few", f"{CPP}/walk/each.cpp",
        "for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; j++)",
        "for (int64_t j = whole_columns; j < columns; j++)",
        "backends/test_long_lines.py",
        "rows at the lower edge of x.T.copy() are what stood in memory before",
        only="transposed",
    ),
    # ---- order, places ---------------------------------------------------------------------------
    Mutant(
        "a pass of radix sort is left out for all but one", f"{CPP}/kernels/sort.cpp",
        "if (next[digit(entries[0], d)] == n) continue;",
        "if (next[digit(entries[0], d)] >= n - 1) continue;",
        SAME + "argsort_with_one_outlier_in_each_digit",
        "one outlier among many small numbers stands in the middle of the sorted row",
    ),
    Mutant(
        "-0.0 is sorted before 0.0", f"{CPP}/kernels/sort.cpp",
        "Ordered<T>::zeros_alike(Ordered<T>::key(x)) - LOWEST", "Ordered<T>::key(x) - LOWEST",
        "backends/test_long_lines.py",
        "equal numbers change places",
        only="argsort",
    ),
    Mutant(
        "of equals in two chunks the last is the largest", f"{CPP}/kernels/reductions.hpp",
        "return a.key < b.key ? b : a;",
        "return a.key <= b.key ? b : a;",
        "backends/test_long_lines.py",
        "argmax of a long row depends on where it is cut",
        only="another_chunk",
    ),
    Mutant(
        "argmax steps over a nan in a long row", f"{CPP}/kernels/reductions.hpp",
        "if (xsimd::any(is_nan)) return std::numeric_limits<T>::quiet_NaN();", "",
        "backends/test_long_lines.py",
        "a network that has gone wrong predicts something plausible",
        only="largest",
    ),
    Mutant(
        "an index may be the size itself, in C++", f"{CPP}/kernels/select.cpp",
        "2 * static_cast<uint64_t>(size);", "2 * static_cast<uint64_t>(size) + 1;",
        "backends/test_refused.py",
        "reads one element beyond the memory",
    ),
    Mutant(
        "a scan begins anew at element 4,096", f"{CPP}/kernels/scan.cpp",
        "carry[c] = Op::next(carry[c], x[i * x_step + c * next[1]], y[i * y_step + c * next[2]]);",
        "carry[c] = i == 4096 ? Op::first(y[i * y_step + c * next[2]]) : Op::next(carry[c],"
        " x[i * x_step + c * next[1]], y[i * y_step + c * next[2]]);",
        SAME + "a_scan_carries_on_to_the_end",
        "a running sum of a long row falls back to 0",
    ),
    # ---- windows ---------------------------------------------------------------------------------
    Mutant(
        "equals in a window of 2 x 2 all get the whole gradient", f"{CPP}/kernels/pool.cpp",
        "shared[q] / (a + b + c + d) + F(0);", "shared[q] + F(0);",
        AGREE,
        "flat parts of a picture learn up to four times too fast",
        only="max_pool2d_grad",
    ),
    Mutant(
        "inf beside padding makes a weight's gradient nan", f"{CPP}/kernels/conv.cpp",
        "if (!careful && xsimd::any(is_nan)) return false;", "",
        AGREE,
        "one infinite pixel spoils gradients of taps that never saw it",
        only="conv2d_weight",
    ),
    # ---- optimizers, losses, random numbers ------------------------------------------------------
    Mutant(
        "Adam's eps is added before the correction, in C++", f"{CPP}/kernels/optimizer.cpp",
        "xsimd::sqrt(v) / correction + eps", "(xsimd::sqrt(v) + eps) / correction",
        AGREE + " optim/test_optimizer.py",
        "the first steps of Adam are another algorithm's where gradients are small",
        only="adam or fifty",
    ),
    Mutant(
        "the end of a parameter has a step of its own", f"{CPP}/kernels/optimizer.cpp",
        "for (int64_t j = 0; j < padded; j += WIDTH) step(computed, j);",
        "for (int64_t j = 0; j + WIDTH < padded || j == 0; j += WIDTH) step(computed, j);",
        AGREE,
        "the last parameters of a strided weight never learn",
        only="adam",
    ),
    Mutant(
        "scores of a long row are not taken relative to the largest", f"{CPP}/kernels/scores.hpp",
        "for (int64_t i = WIDTH; i < size; i += WIDTH) all = xsimd::max(all, read(x, i));\n"
        "        if (ROWS > 1) return all;",
        "for (int64_t i = WIDTH; i < smaller(size, 8 * WIDTH); i += WIDTH)\n"
        "            all = xsimd::max(all, read(x, i));\n"
        "        if (ROWS > 1) return all;",
        AGREE + " ops/test_ops.py",
        "softmax over many classes overflows where the largest stands behind the first hundred",
        only="softmax or cross_entropy",
    ),
    Mutant(
        "random numbers repeat after 65,536", f"{CPP}/kernels/random.cpp",
        "const uint64_t block = counter + (first + i);",
        "const uint64_t block = counter + ((first + i) & 0x3fff);",
        SAME + "a_random_stream_never_repeats",
        "rows of a large weight are copies of each other",
    ),
    Mutant(
        "a draw leaves its counter where it was", f"{CPP}/border/call.cpp",
        "__atomic_fetch_add(counter, params->integer[Draw::BLOCKS], __ATOMIC_RELAXED);",
        "__atomic_load_n(counter, __ATOMIC_RELAXED);",
        "nn/test_again.py",
        "each mask of dropout is the one before",
    ),
    # ---- narrow floats ---------------------------------------------------------------------------
    Mutant(
        "a double is rounded to 16 bits twice", f"{CPP}/math/half.hpp",
        "floats[k] = rounded<T>(from[i + k]);", "floats[k] = static_cast<float>(from[i + k]);",
        "backends/test_by_hand.py " + AGREE,
        "ties go the wrong way",
        only="cast or rounded",
    ),
    Mutant(
        "a bfloat16 is cut off instead of rounded", f"{CPP}/math/half.hpp",
        "(bits + 0x7fff + (bits >> 16 & 1)) >> 16;", "bits >> 16;",
        AGREE,
        "every result in bfloat16 is too small: networks drift",
        only="add and bfloat16",
    ),
    # ---- memory, threads, the shortest way -------------------------------------------------------
    Mutant(
        "the border believes in what stands before a Buffer", f"{CPP}/border/operand.cpp",
        "return low >= 0 && high < count;", "return high < count;",
        "backends/test_simd_border.py",
        "a forged offset reads memory of others",
        only="not what_it_is and not levels",  # of these two, one level alone is a failure
    ),
    Mutant(
        "a Plan goes on where the memory was in the run before", f"{CPP}/replay/run.cpp",
        "if (room->bases[place] == memory->data) continue;", "if (room->bases[place]) continue;",
        "programs/test_replay.py::test_memory_may_change_between_runs",
        "every batch but the first is the first one",
    ),
    Mutant(
        "two threads that run a Plan share an arena", f"{CPP}/replay/run.cpp",
        "idle_.pop_back();", "",
        "programs/test_replay.py::test_threads_run_a_replay_at_once",
        "a server's answers are made of several requests",
    ),
    Mutant(
        "the twin of a replay does not look for hooks", f"{CPP}/replay/guards.cpp",
        "== known.requires_grad && !has_hooks(t);", "== known.requires_grad;",
        "programs/test_guarded_names.py",
        "a hook that is added later is never called",
    ),
    Mutant(
        "shapes that do not fit are taken for such that do", f"{CPP}/engine/rules.cpp",
        "if (found != 1) return false;", "",
        "ops/test_twin.py::test_shapes_that_broadcast_and_those_that_do_not",
        "x + row reads beyond the row",
    ),
    Mutant(
        "a node forgets who wants a gradient", f"{CPP}/engine/remember.cpp",
        "wanted |= is_tensor(ins_[i]) && requires_grad(ins_[i]);",
        "wanted = is_tensor(ins_[i]) && requires_grad(ins_[i]);",
        "ops/test_twin.py core/test_engine.py",
        "of w * x, with x a constant, nothing is recorded",
    ),
    Mutant(
        "a promise of memory is kept anew for every kernel", f"{CPP}/memory/holder.cpp",
        "if (memory && is_at(buf, promise) && PyObject_SetAttr(buf, names[MEMORY], memory) != 0)\n"
        "        Py_CLEAR(memory);", "",
        "core/test_buffer.py",
        "a kernel that writes into a promise writes into memory that nobody sees again",
    ),
    Mutant(
        "read-only memory is exported as writable", f"{CPP}/memory/memory.cpp",
        "if ((flags & PyBUF_WRITABLE) && self->readonly) {", "if (false) {",
        "backends/test_simd_memory.py",
        "the constant 2 of every x * 2 can be overwritten",
    ),
    Mutant(
        "scratch memory that grew is too small", f"{CPP}/threads.cpp",
        "if (size > mine.size[slot] || !mine.block[slot]) {", "if (!mine.block[slot]) {",
        "backends/test_threads.py " + AGREE,
        "a large product after a small one writes over other memory",
        only="matmul",
    ),
    # ---- networks --------------------------------------------------------------------------------
    Mutant(
        "the mask of a query is that of one 512 before it", f"{CPP}/kernels/attention.cpp",
        "const F* add = scores.added(first + i, key, seen, added);",
        "const F* add = scores.added(i, key, seen, added);",
        BLOCKS,
        "the second half of a long text is masked like the first",
        only="QUERIES",
    ),
    Mutant(
        "a mask of one column is taken for none", f"{CPP}/kernels/attention.hpp",
        "bool plain = mask.row == 0 && mask.col == 0 &&", "bool plain = mask.col == 0 &&",
        "nn/test_norms.py::test_a_row_that_sees_no_key_gives_zero",
        "a query that is to see nothing sees all, where the first one may",
    ),
    Mutant(
        "lanes behind a row have a part in its variance", f"{CPP}/kernels/norm.hpp",
        "        return read(line);", "        return values;",
        AGREE,
        "layer norm is wrong where the width fills no vector",
        only="layer_norm-float32",
    ),
    Mutant(
        "a dilated window of 2 x 2 is taken for a plain one", f"{CPP}/kernels/pool.cpp",
        "h.dilation == 1 && w.dilation == 1 && step == 1 && out.strides[3] == 1;",
        "h.dilation == 1 && step == 1 && out.strides[3] == 1;",
        "ops/test_ops.py::test_values",
        "max_pool2d(2, dilation=(1, 2)) looks at neighbours",
        only="max_pool2d1",
    ),
    Mutant(
        "windows that share a row are taken for apart", f"{CPP}/kernels/pool.cpp",
        "(h.taps - 1) * h.dilation < h.stride;", "(h.taps - 1) * h.dilation <= h.stride;",
        AGREE,
        "gradients are lost where two bands of an image meet",
        only="max_pool2d_grad-float32",
    ),
    Mutant(
        "Lion's sign of 0 is -1", f"{CPP}/kernels/optimizer.cpp",
        "xsimd::select(u < none, -one, u)", "-one",
        AGREE,
        "weights that no gradient reaches grow with every step",
        only="lion-float32",
    ),
    # ---- the engine, and calls that are made again -----------------------------------------------
    Mutant(
        "x[:] = y does not count as a change", f"{CPP}/engine/inplace.cpp",
        "Ref touched(PyObject_CallMethodNoArgs(part(target, T_BUF), given.touch));\n    return",
        "Ref touched = Ref::to(Py_None);\n    return",
        "core/test_engine.py::test_a_changed_value_is_noticed_and_the_line_named",
        "a gradient is computed from numbers that were overwritten in the meantime",
    ),
    Mutant(
        "two leaves share the memory of a gradient", f"{CPP}/engine/store.cpp",
        "if (handed_out.count(part(fresh, T_BUF)) ||", "if (",
        "core/test_engine.py::test_no_two_gradients_share_memory",
        "clipping the gradient of one parameter clips that of another as well",
    ),
    Mutant(
        "a replayed call does not count its changes", f"{CPP}/replay/caller.cpp",
        "for (const Touched& touched : touched_) {",
        "for (const Touched& touched : std::vector<Touched>()) {",
        "programs/test_jit.py::test_a_saved_value_that_a_replay_changes_is_known_to_be_stale",
        "what a jitted step overwrites is still taken for what a graph has saved",
    ),
    Mutant(
        "the shortcut does not ask who watches", f"{CPP}/replay/caller.cpp",
        "if (PyDict_GET_SIZE(given.watches) || PyDict_GET_SIZE(given.casting) ||",
        "if (PyDict_GET_SIZE(given.casting) ||",
        SHORTCUT,
        "a profiler sees nothing of what is replayed",
    ),
    Mutant(
        "the shortcut does not ask for autocast", f"{CPP}/replay/caller.cpp",
        "if (PyDict_GET_SIZE(given.watches) || PyDict_GET_SIZE(given.casting) ||",
        "if (PyDict_GET_SIZE(given.watches) ||",
        SHORTCUT,
        "what was recorded outside of an autocast block runs as it is within",
    ),
    Mutant(
        "the shortcut does not ask whether a graph is recorded", f"{CPP}/replay/caller.cpp",
        "return recording == short_.recording && kernels", "return kernels",
        SHORTCUT,
        "under no_grad a result requires a gradient; and behind it the other way round",
    ),
    Mutant(
        "the shortcut does not ask for the backend", f"{CPP}/replay/caller.cpp",
        " && kernels_in_use().get() == short_.kernels;", ";",
        SHORTCUT,
        "under use_backend(\"python_ref\") the kernels of simd_cpp run",
    ),
    Mutant(
        "the shortcut draws from the stream of the process", f"{CPP}/replay/caller.cpp",
        " || !is_unset(short_.stream))", ")",
        SHORTCUT,
        "a batch that is made ahead changes the random numbers of the step beside it",
    ),
    Mutant(
        "the shortcut is taken within another jitted function", f"{CPP}/replay/caller.cpp",
        "!is_unset(short_.within) || ", "",
        SHORTCUT,
        "a function that calls another jitted one records none of its steps",
    ),
    Mutant(
        "the shortcut forgets arguments by name", f"{CPP}/replay/shortcut.cpp",
        "if (caller && !(kwargs && PyDict_GET_SIZE(kwargs))) {", "if (caller) {",
        SHORTCUT,
        "f(x, scale=3) is f(x)",
    ),
    Mutant(
        "an error by the shortcut does not say its line", f"{CPP}/replay/caller.cpp",
        "if (!made) return tell_error(now.note), nullptr;", "if (!made) return nullptr;",
        SHORTCUT,
        "of a hundred steps nobody knows which one was given a wrong index",
    ),
    Mutant(
        "what a replay hands out of a slice is of its first numbers", f"{CPP}/replay/caller.cpp",
        "PyLong_FromLongLong(within->start)", "PyLong_FromLong(0)",
        SHORTCUT,
        "f(images[32:64]) returns a view of images[0:32]",
        only="slices",
    ),
    Mutant(
        "a slice is replayed over the numbers before it", f"{CPP}/replay/arguments.cpp",
        "    part->data += start * itemsize_of[dtype];\n", "",
        SHORTCUT,
        "a text that moves on by one is read from its beginning, batch after batch",
        only="slices",
    ),
    Mutant(
        "slices that lie otherwise to each other are taken for the same",
        f"{CPP}/replay/arguments.cpp",
        " || offsets[i] - windows[i].start != as.offset) return false;", ") return false;",
        "programs/test_situations.py",
        "what follows a text is taken from another place than this time",
        only="walked or slice or text",
    ),
    Mutant(
        "a replay that writes into a slice does not tell its Buffer", f"{CPP}/replay/caller.cpp",
        "|| !windows[i].is_part())", "|| true)",
        SHORTCUT,
        "a graph that has saved the rows of before computes with those of now",
        only="slices",
    ),
    Mutant(
        "another argument comes out", f"{CPP}/replay/caller.cpp",
        ": args[result.argument]);", ": args[0]);",
        SHORTCUT,
        "(y, x) is (x, x)",
        only="come_out",
    ),
    Mutant(
        "an argument may be the state by now", f"{CPP}/replay/arguments.cpp",
        " || states.count(buf)) return false;", ") return false;",
        "programs/test_situations.py",
        "f(model.w) is computed as if w were somebody else's",
        only="argument and state",
    ),
    Mutant(
        "a class that nobody has asked has no version", f"{CPP}/replay/guards.cpp",
        'PyObject_GetAttrString(kind, "__init__")', 'PyObject_GetAttrString(kind, "__mro__")',
        "programs/test_quick_look.py",
        "each replay of a training loop looks at all guards in Python",
    ),
]  # fmt: skip
