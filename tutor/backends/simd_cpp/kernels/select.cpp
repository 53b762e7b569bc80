// Choosing elements by index: gather index_select scatter scatter_add nonzero.
//
// An index is a position along the indexed axis, from -size to size - 1: a negative one counts from
// the end. Inputs must not overlap `out`, except for the x of scatter_add and scatter, which may be
// `out` itself.
#include "select.rows.hpp"
#include "walk/moving.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- the index ----------------------------------------------------------------------------------

// Tests -size <= index < size in one comparison: index + size is from 0 to 2 * size - 1, and as
// unsigned a negative number is larger than any of those.
inline bool is_position(int64_t index, int64_t size) {
    return static_cast<uint64_t>(index) + static_cast<uint64_t>(size) <
           2 * static_cast<uint64_t>(size);
}

// Whether every index is a position along an axis of `size`; if not, the first that is not.
Status check_indices(const Operand& index, int64_t size) {
    Nest nest;
    for (int d = 0; d < index.ndim; d++) {
        if (index.shape[d] == 0) return OK;
        if (index.strides[d] != 0)
            nest.add(index.shape[d], {index.strides[d]});  // else they repeat
    }
    const int64_t* data = reinterpret_cast<const int64_t*>(index.data);
    const int64_t count = nest.count();
    for (int64_t at = 0; at < count;) {
        int64_t offset[MAX_OPERANDS];
        const int64_t run = nest.locate(at, offset);
        const int64_t* from = data + offset[0];
        const int64_t step = nest.depth > 0 ? nest.stride[nest.depth - 1][0] : 1;
        bool bad = false;
        for (int64_t i = 0; i < run; i++) bad |= !is_position(from[i * step], size);
        for (int64_t i = 0; bad && i < run; i++) {
            const int64_t found = from[i * step];
            if (!is_position(found, size)) return {Status::IndexOutOfRange, found, size};
        }
        at += run;
    }
    return OK;
}

// The indexed axis: its size, and the step from one element to the next.
struct IndexedAxis {
    int64_t size, step;

    // The offset from the first element to the one that an index names; negative ones count from
    // the end. Without a branch: index >> 63 is 0, or all bits of a negative one.
    int64_t offset(int64_t index) const { return (index + ((index >> 63) & size)) * step; }
};

// Elements side by side along one axis of three operands: `main` (out, or what is added), `indexed`
// and the index. Steps are in elements.
struct Run {
    int64_t n;
    char *main, *indexed;
    const int64_t* index;
    int64_t main_step, indexed_step, index_step;
    IndexedAxis axis;
};

// Walks the axes [first, last) of `main` and `index`, and of `indexed` with step 0 along the
// indexed axis.
struct IndexedWalk {
    Nest nest;
    IndexedAxis indexed_axis;

    IndexedWalk(const Operand& main, const Operand& indexed, const Operand& index, int64_t axis,
                int first, int last)
        : indexed_axis{indexed.shape[axis], indexed.strides[axis]} {
        for (int d = first; d < last; d++)
            nest.add(main.shape[d],
                     {main.strides[d], d == axis ? 0 : indexed.strides[d], index.strides[d]});
    }

    // Calls each_run on the elements [begin, end), in row-major order. The operands start here.
    template <class EachRun>
    void walk(int64_t begin, int64_t end, int itemsize, char* main, char* indexed,
              const int64_t* index, EachRun each_run) const {
        int64_t still[MAX_OPERANDS] = {}, offset[MAX_OPERANDS];
        const int64_t* step = nest.depth > 0 ? nest.stride[nest.depth - 1] : still;
        while (begin < end) {
            const int64_t n = smaller(nest.locate(begin, offset), end - begin);
            each_run(Run{n, main + offset[0] * itemsize, indexed + offset[1] * itemsize,
                         index + offset[2], step[0], step[1], step[2], indexed_axis});
            begin += n;
        }
    }
};

// z[j] = x[index[j]] for one run.
template <class Bits>
void gather_run(const Run& run) {
    Item<Bits>* z = reinterpret_cast<Item<Bits>*>(run.main);
    const Item<Bits>* x = reinterpret_cast<const Item<Bits>*>(run.indexed);
    if (run.index_step != 0) {
        const Run r = run;  // a copy: nothing that z is written to can change it
        for (int64_t j = 0; j < r.n; j++)
            z[j * r.main_step] = x[j * r.indexed_step + r.axis.offset(r.index[j * r.index_step])];
        return;
    }
    x += run.axis.offset(*run.index);  // one index for the whole run: a piece of a slice
    if (std::is_trivially_copyable_v<Bits> && run.main_step == 1 && run.indexed_step == 1)
        std::memcpy(static_cast<void*>(z), x, run.n * sizeof(Bits));
    else
        for (int64_t j = 0; j < run.n; j++) z[j * run.main_step] = x[j * run.indexed_step];
}

// `index` has the shape of out.
template <class Bits>
Status gather_indexed(const Operand& out, const Operand& x, const Operand& index, int64_t axis) {
    const IndexedWalk walk(out, x, index, axis, 0, out.ndim);
    const int64_t count = walk.nest.count(), grain = GRAIN_BYTES / sizeof(Bits);
    const int64_t chunks = ceil_div(count, grain);
    if (chunks == 0) return OK;
    parallel(chunks, [&](int64_t chunk) {
        walk.walk(chunk * grain, smaller(count, (chunk + 1) * grain), sizeof(Bits), out.data,
                  x.data, reinterpret_cast<const int64_t*>(index.data), gather_run<Bits>);
    });
    return OK;
}

template <class Bits>
Status gather(const Operand& out, const Operand* ins, int, const Params& params) {
    const int64_t axis = params.axis[0];
    const Status status = check_indices(ins[1], ins[0].shape[axis]);
    return status.kind == Status::Ok ? gather_indexed<Bits>(out, ins[0], ins[1], axis) : status;
}

// Whether the slices of the first axis have no gaps.
bool has_whole_slices(const Operand& x) {
    int64_t step = 1;
    for (int d = x.ndim - 1; d > 0; step *= x.shape[d--])
        if (x.shape[d] != 1 && x.strides[d] != step) return false;
    return true;
}

// Copies such slices one after the other: only the place of each must be found.
template <class Bits>
void copy_slices(const Operand& out, const Operand& x, const Operand& index) {
    int64_t n = 1;
    for (int d = 1; d < out.ndim; d++) n *= out.shape[d];
    const IndexedAxis axis{x.shape[0], x.strides[0]};
    const int64_t count = n == 0 ? 0 : out.shape[0], size = n * sizeof(Bits);
    const int64_t grain = larger(1, GRAIN_BYTES / larger(1, size));
    const int64_t* at = reinterpret_cast<const int64_t*>(index.data);
    parallel(ceil_div(count, grain), [&](int64_t chunk) {
        for (int64_t i = chunk * grain; i < smaller(count, (chunk + 1) * grain); i++)
            std::memcpy(out.data + i * out.strides[0] * int64_t(sizeof(Bits)),
                        x.data + axis.offset(at[i * index.strides[0]]) * int64_t(sizeof(Bits)),
                        size);
    });
}

// A gather whose index is repeated along all other axes.
template <class Bits>
Status index_select(const Operand& out, const Operand* ins, int, const Params& params) {
    const int64_t axis = params.axis[0];
    const Status status = check_indices(ins[1], ins[0].shape[axis]);
    if (std::is_trivially_copyable_v<Bits> && status.kind == Status::Ok && axis == 0 &&
        out.ndim > 1 && has_whole_slices(out) && has_whole_slices(ins[0])) {
        copy_slices<Bits>(out, ins[0], ins[1]);
        return OK;
    }
    Operand index = out;
    index.data = ins[1].data;
    for (int d = 0; d < out.ndim; d++) index.strides[d] = d == axis ? ins[1].strides[0] : 0;
    return status.kind == Status::Ok ? gather_indexed<Bits>(out, ins[0], index, axis) : status;
}

// ---- scatter_add, scatter -----------------------------------------------------------------------

struct Add {
    template <class T>
    T operator()(T old, T src) const {
        using F = Computed<T>;  // integers become unsigned, which may wrap
        return convert<T>(convert<F>(old) + convert<F>(src));
    }
};

struct Replace {
    template <class T>
    T operator()(T, T src) const {
        return src;
    }
};

// z[index[j]] = combine(z[index[j]], src[j]) for one run, in order.
template <class T, class Combine>
void scatter_run(const Run& run) {
    constexpr Combine combine;
    const T* src = reinterpret_cast<const T*>(run.main);
    T* z = reinterpret_cast<T*>(run.indexed);
    if (run.index_step != 0 || run.indexed_step == 0) {
        for (int64_t j = 0; j < run.n; j++) {
            T& to = z[j * run.indexed_step + run.axis.offset(run.index[j * run.index_step])];
            to = combine(to, src[j * run.main_step]);
        }
        return;
    }
    z += run.axis.offset(*run.index);  // n different elements of one slice
    if (run.main_step == 1 && run.indexed_step == 1) {
        TUTOR_INDEPENDENT
        for (int64_t j = 0; j < run.n; j++) z[j] = combine(z[j], src[j]);
    } else {
        for (int64_t j = 0; j < run.n; j++) {
            T& to = z[j * run.indexed_step];
            to = combine(to, src[j * run.main_step]);
        }
    }
}

// Whether a and b, of one shape, are the same elements in memory.
bool same_memory(const Operand& a, const Operand& b) {
    bool same = a.data == b.data;
    for (int d = 0; d < a.ndim; d++) same &= a.shape[d] == 1 || a.strides[d] == b.strides[d];
    return same;
}

// Combines each element of out with its elements of src, in their order; scatter_add rounds after
// each. One thread walks the indexed axis and those inside it; threads share the axes outside it.
template <class T, class Combine>
Status scatter(const Operand& out, const Operand* ins, int, const Params& params) {
    const Operand &x = ins[0], &index = ins[1], &src = ins[2];
    const int axis = static_cast<int>(params.axis[0]);
    Status status = check_indices(index, out.shape[axis]);
    if (status.kind != Status::Ok) return status;
    if (!std::is_trivially_copyable_v<T> || !same_memory(out, x)) status = copy_block<T>(out, x);
    if (status.kind != Status::Ok) return status;
    const IndexedWalk slices(src, out, index, axis, 0, axis),
        slice(src, out, index, axis, axis, src.ndim);
    const int64_t count = slice.nest.count();
    constexpr int64_t SIZE = sizeof(T);  // signed, as offsets are: they may be negative
    parallel_each(slices.nest.count(), count, GRAIN_BYTES / sizeof(T), [&](int64_t s) {
        int64_t offset[MAX_OPERANDS];
        slices.nest.locate(s, offset);
        const int64_t* index_at = reinterpret_cast<const int64_t*>(index.data) + offset[2];
        slice.walk(0, count, SIZE, src.data + offset[0] * SIZE, out.data + offset[1] * SIZE,
                   index_at, scatter_run<T, Combine>);
    });
    return OK;
}

// ---- nonzero ------------------------------------------------------------------------------------

// Calls visit(byte, position) for chunk number c of x's elements.
template <class Visit>
void each_byte(const Operand& x, const Nest& nest, int64_t c, Visit visit) {
    const int64_t step = nest.depth > 0 ? nest.stride[nest.depth - 1][0] : 1;
    const int64_t begin = c * GRAIN_BYTES, end = smaller(begin + GRAIN_BYTES, nest.count());
    for (int64_t at = begin, run; at < end; at += run) {
        int64_t offset[MAX_OPERANDS];
        run = smaller(nest.locate(at, offset), end - at);
        const uint8_t* from = reinterpret_cast<const uint8_t*>(x.data) + offset[0];
        for (int64_t i = 0; i < run; i++) visit(from[i * step], at + i);
    }
}

// Passes over x twice, chunk by chunk: first to count, so that each chunk knows where its part of
// `out` begins, then to write. No chunk writes outside its part, even if x changes in between.
Status nonzero(const Operand& out, const Operand* ins, int, const Params&) {
    const Operand& x = ins[0];
    Nest nest;
    for (int d = 0; d < x.ndim; d++) nest.add(x.shape[d], {x.strides[d]});
    const int64_t chunks = ceil_div(nest.count(), GRAIN_BYTES);
    int64_t* begins = static_cast<int64_t*>(scratch(0, (chunks + 1) * sizeof(int64_t)));
    if (begins == nullptr) return {Status::OutOfMemory, 0, 0};
    parallel_each(chunks, 1, 1, [&](int64_t c) {
        int64_t count = 0;
        each_byte(x, nest, c, [&](uint8_t byte, int64_t) { count += byte != 0; });
        begins[c + 1] = count;
    });
    begins[0] = 0;
    for (int64_t c = 0; c < chunks; c++) begins[c + 1] += begins[c];
    if (begins[chunks] != out.shape[0]) return {Status::CountDiffers, begins[chunks], out.shape[0]};

    int64_t* z = reinterpret_cast<int64_t*>(out.data);
    const int64_t step = out.strides[0];
    parallel_each(chunks, 1, 1, [&](int64_t c) {
        int64_t to = begins[c];
        const int64_t end = begins[c + 1];
        each_byte(x, nest, c, [&](uint8_t byte, int64_t position) {
            if (to == end) return;
            z[to * step] = position;  // the next one overwrites it, unless the byte is true
            to += byte != 0;
        });
    });
    return OK;
}

}  // namespace

// clang-format off
TABLE(select,
      KERNEL(gather, gather<Moved<T>>),
      KERNEL(index_select, index_select<Moved<T>>),
      KERNEL(scatter, scatter<Item<Moved<T>>, Replace>),
      KERNEL(scatter_add, scatter<Stored<T>, Add>),
      KERNEL(nonzero, nonzero))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
