#include "replay/arguments.hpp"

#include <algorithm>

#include "engine/tensors.hpp"
#include "memory/memory.hpp"
#include "replay/guards.hpp"

namespace tutor {

namespace {

// How many numbers the Buffer has, if it is on the device of that name; -1 if it is on another one,
// or its numbers are only promised.
int64_t room_of(PyObject* buf, PyObject* name) {
    PyObject* memory = reinterpret_cast<Holder*>(buf)->memory;
    if (name == Py_None)
        return is_intact(buf) ? int64_t(reinterpret_cast<Memory*>(memory)->count) : -1;
    Ref device(memory && !is_memory(memory) ? PyObject_GetAttrString(memory, "device") : nullptr);
    Ref count(device ? PyObject_GetAttrString(memory, "count") : nullptr);
    if (!count) return PyErr_Clear(), -1;
    return equal(device.get(), name) && PyLong_Check(count.get()) ? PyLong_AsSsize_t(count.get())
                                                                  : -1;
}

// Whether a Tensor is as the recorded one: its type and layout, without a graph or a gradient.
bool is_alike(PyObject* t, const Argument& as) {
    if (!given.tensor.is_exactly(t) || !is_whole(t) || part(t, T_OP) != Py_None ||
        part(t, T_REQUIRES_GRAD) != Py_False || part(t, T_GRAD) != Py_None)
        return false;
    PyObject* buf = part(t, T_BUF);
    return given.buffer.is_exactly(buf) && given.buffer.at(buf, B_DTYPE) == as.dtype &&
           equal(part(t, T_SHAPE), as.shape) && equal(part(t, T_STRIDES), as.strides);
}

}  // namespace

PyObject* Window::buffer() const {
    if (!is_part()) return Py_NewRef(buf);
    Ref kept = Ref::to(reinterpret_cast<Holder*>(buf)->memory);
    if (!is_memory(kept.get())) return Py_NewRef(buf);  // changed; the Plan says what is wrong
    const DType dtype = reinterpret_cast<Memory*>(kept.get())->dtype;
    Memory* part = borrow(kept.get(), start + size, dtype);
    if (!part) return nullptr;
    part->data += start * itemsize_of[dtype];
    part->count = size;
    return buffer_of(part);
}

bool Windows::fit(const std::vector<Argument>& recorded,
                  const std::unordered_set<PyObject*>& states, PyObject* const* args) {
    int64_t offsets[MOST_ARGUMENTS];
    const auto count = static_cast<Py_ssize_t>(recorded.size());
    for (Py_ssize_t i = 0; i < count; ++i) {
        const Argument& as = recorded[i];
        if (!is_alike(args[i], as) || !read_whole(part(args[i], T_OFFSET), &offsets[i]))
            return false;
        PyObject* buf = Py_NewRef(part(args[i], T_BUF));
        all_[count_++] = {buf, 0, 0, 0};
        const int64_t whole = room_of(buf, as.device);
        const bool some = as.contiguous && as.elements < whole;
        const bool outside = offsets[i] < 0 || offsets[i] > whole - as.elements;
        if (whole < 0 || states.count(buf) || (some && (outside || as.device != Py_None)))
            return false;
        all_[i] = {buf, some ? offsets[i] : 0, some ? as.elements : whole, whole};
        const auto same = [=](const Window& other) { return other.buf == buf; };
        if (std::find_if(all_, all_ + i, same) - all_ != as.first ||
            std::find(args, args + i, args[i]) - args != as.itself)
            return false;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {  // one window for all over a Buffer: first to last
        Window &all = all_[recorded[i].first], &one = all_[i];
        const int64_t end = std::max(all.start + all.size, one.start + one.size);
        all.start = std::min(all.start, one.start);
        all.size = end - all.start;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        const Argument& as = recorded[i];
        all_[i] = all_[as.first];  // of the same Buffer
        if (all_[i].size != as.size || offsets[i] - all_[i].start != as.offset) return false;
    }
    return true;
}

}  // namespace tutor
