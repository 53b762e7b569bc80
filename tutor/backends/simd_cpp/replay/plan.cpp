// Reading a Plan: the checks that are made once.
#include "replay/plan.hpp"

#include <algorithm>

#include "border/checks.hpp"
#include "border/errors.hpp"
#include "replay/arenas.hpp"

namespace tutor {

namespace {

constexpr int64_t MOST = int64_t(1) << 60;  // bytes, so that no sum below can overflow

bool cannot(const std::string& what, const std::string& found, const char* advice) {
    raise("DomainError", "to make a Plan: " + what, found, advice);
    return false;
}

std::string number_of(const char* what, int64_t number) {
    return std::string(what) + " " + std::to_string(number);
}

// An owned reference, released at the end of the block.
struct Held {
    PyObject* object;
    explicit Held(PyObject* owned) : object(owned) {}
    ~Held() { Py_XDECREF(object); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
};

bool is_tuple_of(PyObject* object, Py_ssize_t count) {
    return PyTuple_Check(object) && PyTuple_GET_SIZE(object) == count;
}

// The items of a sequence, as a tuple that nobody else can change.
PyObject* items_of(PyObject* sequence, const char* what) {
    if (PyList_Check(sequence) || PyTuple_Check(sequence)) return PySequence_Tuple(sequence);
    cannot(what, std::string("an object of type ") + Py_TYPE(sequence)->tp_name, "give a list");
    return nullptr;
}

// The parameters of a step: a tuple of names and a list of their values. Nobody else has either.
struct Given {
    PyObject *names = nullptr, *values = nullptr;

    ~Given() {
        Py_XDECREF(names);
        Py_XDECREF(values);
    }

    bool read(PyObject* params, const std::string& step) {
        if (!PyDict_Check(params)) {
            return cannot(step,
                          std::string("its parameters are of type ") + Py_TYPE(params)->tp_name,
                          "give a dict of them");
        }
        Held keys(PyDict_Keys(params));
        if (!keys.object || !(values = PyDict_Values(params))) return false;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.object); ++i) {
            if (PyUnicode_Check(PyList_GET_ITEM(keys.object, i))) continue;
            return cannot(step, "the name of a parameter is no text", "give a dict by name");
        }
        names = PyList_AsTuple(keys.object);
        return names && PyTuple_GET_SIZE(names) == PyList_GET_SIZE(values);
    }
};

}  // namespace

void set_step(int64_t number) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject* step = PyLong_FromLongLong(number);
    if (!step || !value || PyObject_SetAttrString(value, "step", step) < 0) PyErr_Clear();
    Py_XDECREF(step);
    PyErr_Restore(type, value, trace);
}

void tell_error(PyObject* note) {
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    PyObject* done = PyObject_CallOneArg(note, error);
    if (!done) PyErr_Clear();
    Py_XDECREF(done);
    PyErr_Restore(type, error, trace);
}

// ---- Slots --------------------------------------------------------------------------------------

bool Plan::read_slot(PyObject* from, int64_t number) {
    const std::string what = number_of("slot", number);
    if (!is_tuple_of(from, 3) || !PyLong_Check(PyTuple_GET_ITEM(from, 0))) {
        return cannot(what, "it is no (count, format, where)", "give a tuple of these three");
    }
    PyObject* where = PyTuple_GET_ITEM(from, 2);
    Slot slot;
    slot.count = nearest_int64(PyTuple_GET_ITEM(from, 0));
    slot.dtype = dtype_of_format(PyTuple_GET_ITEM(from, 1));
    if (slot.dtype == DTYPES) {
        return cannot(what, "its format names no dtype", "give the format of one: 'f'");
    }
    const int64_t size = itemsize_of[slot.dtype];
    if (slot.count < 0 || slot.count > MOST / size) {
        return cannot(what, std::to_string(slot.count) + " numbers",
                      "give 0 or more, as many as can be addressed");
    }
    if (!PyLong_Check(where)) {  // a Buffer: it stays the same
        std::string found;
        slot.bound = memory_of(where, &found);
        if (!slot.bound) return PyErr_Occurred() ? false : cannot(what, found, "give a Buffer");
        slots_.push_back(slot);  // it owns the memory
        if (slot.bound->count == slot.count && slot.bound->dtype == slot.dtype) return true;
        return cannot(what,
                      "its Buffer has " + std::to_string(slot.bound->count) + " numbers of " +
                          name_of(slot.bound->dtype),
                      "give one of that many numbers of that dtype");
    }
    slot.offset = nearest_int64(where);
    const int64_t room = static_cast<int64_t>(arena_bytes_);
    if (slot.offset == -1) {
        given_.push_back(static_cast<int>(number));
    } else if (slot.offset < 0 || slot.offset % static_cast<int64_t>(ALIGNMENT) != 0 ||
               slot.offset > room || slot.count * size > room - slot.offset) {
        return cannot(
            what,
            std::to_string(slot.count * size) + " bytes from " + std::to_string(slot.offset) +
                " on in an arena of " + std::to_string(room),
            "let it begin at a multiple of 64, and end within the arena; -1 is for memory "
            "that each run is given");
    }
    slots_.push_back(slot);
    return true;
}

// ---- Steps --------------------------------------------------------------------------------------

// The operands, which are (slot, shape, strides, offset), and where in its slot each begins.
bool Plan::read_operands(PyObject* from, const Kernel& kernel, int number, Operands* operands,
                         std::vector<Use>* starts) {
    const std::string what = number_of("step", number);
    for (int i = 0; i < operands->count(); ++i) {
        PyObject* walk = PyTuple_GET_ITEM(from, i);
        if (!is_tuple_of(walk, 4) || !PyLong_Check(PyTuple_GET_ITEM(walk, 0))) {
            return cannot(what, operand_name(i) + " is no (slot, shape, strides, offset)",
                          "give a tuple of these four");
        }
        const int64_t which = nearest_int64(PyTuple_GET_ITEM(walk, 0));
        if (which < 0 || which >= static_cast<int64_t>(slots_.size())) {
            return cannot(what, operand_name(i) + " walks slot " + std::to_string(which),
                          "count the slots from 0 on");
        }
        const Slot& slot = slots_[which];
        int64_t start;
        if (!operands->lay(i, PyTuple_GET_ITEM(walk, 1), PyTuple_GET_ITEM(walk, 2),
                           PyTuple_GET_ITEM(walk, 3), slot.count, slot.dtype, kernel.row->name,
                           &start)) {
            return false;
        }
        starts->push_back({static_cast<int>(which), start * itemsize_of[slot.dtype]});
    }
    return true;
}

bool Plan::read_step(PyObject* from, int number) {
    const std::string what = number_of("step", number);
    if (!is_tuple_of(from, 3) || !PyTuple_Check(PyTuple_GET_ITEM(from, 1))) {
        return cannot(what, "it is no (kernel, operands, params)",
                      "give a tuple of these three, the operands a tuple, too");
    }
    PyObject* walks = PyTuple_GET_ITEM(from, 1);
    const Kernel* kernel = kernel_of(PyTuple_GET_ITEM(from, 0));
    if (!kernel) {
        return cannot(
            what,
            std::string("its kernel is of type ") + Py_TYPE(PyTuple_GET_ITEM(from, 0))->tp_name,
            "give a kernel of this extension, from a table that `kernels` returns");
    }
    if (!takes(*kernel, PyTuple_GET_SIZE(walks))) return false;
    Operands operands(static_cast<int>(PyTuple_GET_SIZE(walks)));
    std::vector<Use> starts;  // for now, `operand` is the slot
    Given given;
    Params params;
    if (!read_operands(walks, *kernel, number, &operands, &starts) ||
        !given.read(PyTuple_GET_ITEM(from, 2), what) ||
        !check_call(*kernel, operands, given.names, PySequence_Fast_ITEMS(given.values), &params)) {
        return false;
    }
    for (int i = 0; i < operands.count(); ++i) {
        Slot& slot = slots_[starts[i].operand];
        const bool further = kernel->row->form == Form::Fused && params.code.written[i] >= 0;
        if (!(is_written(*kernel->row, i) || further) || slot.writer >= 0) continue;
        slot.writer = number, slot.written_as = i;
        if (slot.bound && slot.bound->readonly) return read_only(kernel->row->name, i);
    }
    add(*kernel, operands, params, starts);
    return true;
}

void Plan::add(const Kernel& kernel, const Operands& operands, const Params& params,
               const std::vector<Use>& starts) {
    const int first = static_cast<int>(operands_.size()), count = operands.count();
    Step step{kernel.row, first, count, kernel.index, 0, params};
    work_ += work_of(*kernel.row, &operands[0], count, params);
    for (int i = 0; i < count; ++i) operands_.push_back(operands[i]);
    if (step.index && numel(operands[step.index]) == 0) step.index = 0;  // no index to copy
    if (step.index) {
        operands_.push_back(operands[step.index]);
        Operand& copy = operands_[first + step.index];
        int64_t strides[MAX_DIMS];
        step.copied = lay_out_copy(copy, strides);
        std::copy_n(strides, copy.ndim, copy.strides);
        const size_t room = step.copied * sizeof(int64_t);
        arena_bytes_ = std::max(arena_bytes_, copies_ + room);
    }
    for (int i = 0; i < count; ++i) {
        const int place = first + (step.index && i == step.index ? count : i);
        slots_[starts[i].operand].uses.push_back({place, starts[i].start});
    }
    steps_.push_back(step);
}

// ---- All of it ----------------------------------------------------------------------------------

bool Plan::read(PyObject* slots, PyObject* steps, PyObject* arena_bytes) {
    const int64_t nbytes = PyLong_Check(arena_bytes) ? nearest_int64(arena_bytes) : -1;
    if (nbytes < 0 || nbytes > MOST) {
        return cannot("its arena", "its size is no number of bytes", "give 0 or more");
    }
    arena_bytes_ = nbytes;
    Held memory(items_of(slots, "its slots"));
    for (Py_ssize_t i = 0; memory.object && i < PyTuple_GET_SIZE(memory.object); ++i) {
        if (!read_slot(PyTuple_GET_ITEM(memory.object, i), i)) return false;
    }
    copies_ = (arena_bytes_ + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    Held calls(memory.object ? items_of(steps, "its steps") : nullptr);
    for (Py_ssize_t i = 0; calls.object && i < PyTuple_GET_SIZE(calls.object); ++i) {
        if (!read_step(PyTuple_GET_ITEM(calls.object, i), static_cast<int>(i))) {
            return set_step(i), false;
        }
    }
    if (!calls.object) return false;
    all_arenas().join(arena_bytes_);
    joined_ = true;
    Room* room = take();  // so that the first run allocates nothing
    const bool found = lay(room);
    give_back(room);
    return found;
}

}  // namespace tutor
