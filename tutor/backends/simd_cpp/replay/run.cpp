// Running a Plan, and its Python type.
#include <algorithm>
#include <memory>
#include <utility>

#include "border/errors.hpp"
#include "replay/arenas.hpp"
#include "replay/plan.hpp"

namespace tutor {

PyTypeObject* plan_type = nullptr;

// ---- Rooms --------------------------------------------------------------------------------------

Plan::~Plan() {
    for (Room* room : rooms_) delete room;
    for (Slot& slot : slots_) Py_XDECREF(slot.bound);
    if (joined_) all_arenas().leave(arena_bytes_);
}

// Points all operands that walk the slot at `base` and what follows.
void Plan::point(Room* room, const Slot& slot, char* base) const {
    for (const Use& use : slot.uses) room->operands[use.operand].data = base + use.start;
}

// A room that no run is using.
Room* Plan::take() {
    if (!idle_.empty()) {
        Room* room = idle_.back();
        idle_.pop_back();
        return room;
    }
    std::unique_ptr<Room> room(new Room{nullptr, nullptr, operands_, {}, {}});
    room->given.resize(given_.size());
    room->bases.resize(given_.size());
    for (const Slot& slot : slots_) {
        if (slot.bound) point(room.get(), slot, slot.bound->data);
    }
    rooms_.reserve(rooms_.size() + 1);
    idle_.reserve(rooms_.size() + 1);  // so that giving it back cannot fail
    rooms_.push_back(room.get());
    return room.release();
}

void Plan::give_back(Room* room) {
    for (Memory*& memory : room->given) Py_CLEAR(memory);
    if (room->arena) all_arenas().give(std::exchange(room->arena, nullptr));
    idle_.push_back(room);
}

// Gives the room an arena for its temps. false, with a Python error set, if memory runs out.
bool Plan::lay(Room* room) const {
    room->arena = all_arenas().take(arena_bytes_);
    if (!room->arena) {
        raise("OutOfMemoryError", "an arena of " + std::to_string(arena_bytes_) + " bytes",
              "that much cannot be had",
              "use smaller shapes or a narrower dtype, or let go of tensors you no longer need");
        return false;
    }
    char* base = room->arena->data;
    if (room->base == base) return true;
    room->base = base;
    for (const Slot& slot : slots_) {
        if (slot.offset >= 0) point(room, slot, base + slot.offset);
    }
    for (const Step& step : steps_) {
        if (step.index) room->operands[step.first + step.index].data = base + copies_;
    }
    return true;
}

// ---- A run --------------------------------------------------------------------------------------

bool Plan::misfits(size_t place, const Slot& slot, const Memory& memory) const {
    const bool dtype = memory.dtype != slot.dtype;
    raise(dtype ? "DTypeError" : "ShapeError", "to run a Program, Buffer " + std::to_string(place),
          "it has " + std::to_string(memory.count) + " numbers of " + name_of(memory.dtype),
          "give " + std::to_string(slot.count) + " numbers of " + name_of(slot.dtype) +
              ", as in the Program");
    return false;
}

// Checks the Buffers that the caller gives, and points the operands at them.
bool Plan::give(Room* room, PyObject* buffers) const {
    const bool is_list = PyList_Check(buffers);
    std::string found;
    for (size_t place = 0;; ++place) {
        // Read each time: keeping a promise runs Python code, which may change the list.
        const Py_ssize_t count = is_list                  ? PyList_GET_SIZE(buffers)
                                 : PyTuple_Check(buffers) ? PyTuple_GET_SIZE(buffers)
                                                          : -1;
        if (count != static_cast<Py_ssize_t>(given_.size())) {
            raise("ArgumentError", "to run a Program",
                  count < 0 ? std::string("an object of type ") + Py_TYPE(buffers)->tp_name
                            : std::to_string(count) + " Buffers",
                  "give a list of " + std::to_string(given_.size()) + " Buffers");
            return false;
        }
        if (place == given_.size()) return apart(*room);
        PyObject* buf =
            is_list ? PyList_GET_ITEM(buffers, place) : PyTuple_GET_ITEM(buffers, place);
        Py_INCREF(buf);
        Memory* memory = memory_of(buf, &found);
        Py_DECREF(buf);
        if (!memory) {
            if (!PyErr_Occurred()) {
                raise("DTypeError", "to run a Program, Buffer " + std::to_string(place), found,
                      "give a Buffer");
            }
            return false;
        }
        room->given[place] = memory;
        const Slot& slot = slots_[given_[place]];
        if (memory->count != slot.count || memory->dtype != slot.dtype) {
            return misfits(place, slot, *memory);
        }
        if (slot.writer >= 0 && memory->readonly) {
            read_only(steps_[slot.writer].row->name, slot.written_as);
            return set_step(slot.writer), false;
        }
        if (room->bases[place] == memory->data) continue;  // as in the run before
        room->bases[place] = memory->data;
        point(room, slot, memory->data);
    }
}

// Whether no memory that a step writes overlaps another. Only borrowed memory can, such as an array
// that another library made from a Tensor.
bool Plan::apart(const Room& room) const {
    for (size_t i = 0; i < given_.size(); ++i) {
        const Memory& one = *room.given[i];
        if (one.place != Memory::Borrowed) continue;
        for (size_t j = 0; j < given_.size(); ++j) {
            const Memory& other = *room.given[j];
            const bool written = slots_[given_[i]].writer >= 0 || slots_[given_[j]].writer >= 0;
            const bool overlap = one.data < other.data + other.nbytes() &&  //
                                 other.data < one.data + one.nbytes();
            if (i == j || !written || !overlap) continue;
            raise("RecordError", "to replay a call over two Tensors in the same memory",
                  "those of " + std::to_string(one.count) + " and of " +
                      std::to_string(other.count) +
                      " numbers overlap, by way of another library, and a step writes there",
                  "hand over a copy: x.copy()");
            return false;
        }
    }
    return true;
}

// Prefetches what a kernel reads of its operands (data, shape; strides: axes up to the fourth)
// while the previous kernel runs. Numbers have long since evicted it from the caches: a step would
// wait for some ten cache lines, one after the other.
constexpr size_t AHEAD = 2;  // steps
inline void fetch(const Operand* operands, int count) {
    for (int i = 0; i < count; ++i) {
        __builtin_prefetch(&operands[i]);
        __builtin_prefetch(&operands[i].strides);
    }
}

// Runs one kernel after the other. Returns the last one's status; *step: the one that failed.
Status Plan::go(Room* room, size_t* step) const {
    Status status{};
    for (; *step < steps_.size(); ++*step) {
        const Step& call = steps_[*step];
        Operand* operands = room->operands.data() + call.first;
        if (*step + AHEAD < steps_.size()) {
            const Step& next = steps_[*step + AHEAD];
            fetch(room->operands.data() + next.first, next.count);
        }
        if (call.index) {
            const Operand& copy = operands[call.index];
            copy_elements(operands[call.count], copy.strides, call.copied,
                          reinterpret_cast<int64_t*>(copy.data));
        }
        if (call.row->form == Form::Draw) {
            Params params = call.params;  // other threads may be running this Plan
            take_blocks(operands, &params);
            status = call.row->run(operands[0], operands + 1, call.count - 1, params);
        } else {
            status = call.row->run(operands[0], operands + 1, call.count - 1, call.params);
        }
        if (status.kind != Status::Ok) break;
    }
    return status;
}

PyObject* Plan::run(PyObject* buffers) {
    struct Taken {
        Plan* plan;
        Room* room;
        ~Taken() { plan->give_back(room); }
    } taken{this, take()};
    Room* room = taken.room;
    if (!lay(room) || !give(room, buffers)) return nullptr;
    PyThreadState* thread = work_ > LONG ? PyEval_SaveThread() : nullptr;
    size_t at = 0;
    const Status status = go(room, &at);
    if (thread) come_back(thread);
    if (status.kind == Status::Ok) Py_RETURN_NONE;
    const Step& step = steps_[at];
    result_of(*step.row, status, &room->operands[step.first], step.params);
    set_step(at);
    return nullptr;
}

// ---- The Python type ----------------------------------------------------------------------------

namespace {

struct PlanObject {
    PyObject head;
    Plan* plan;
};

Plan& plan_of(PyObject* object) { return *reinterpret_cast<PlanObject*>(object)->plan; }

PyObject* plan_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    PyObject *slots, *steps, *arena_bytes;
    static const char* names[] = {"slots", "steps", "arena_bytes", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:Plan", const_cast<char**>(names), &slots,
                                     &steps, &arena_bytes)) {
        return nullptr;
    }
    try {
        auto plan = std::make_unique<Plan>();
        if (!plan->read(slots, steps, arena_bytes)) return nullptr;
        PyObject* self = type->tp_alloc(type, 0);
        if (self) reinterpret_cast<PlanObject*>(self)->plan = plan.release();
        return self;
    } catch (const std::exception& exception) {
        return raise(exception);
    }
}

void plan_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    delete reinterpret_cast<PlanObject*>(object)->plan;
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* plan_run(PyObject* object, PyObject* buffers) {
    try {
        return plan_of(object).run(buffers);
    } catch (const std::exception& exception) {
        return raise(exception);
    }
}

PyObject* plan_arena_bytes(PyObject* object, void*) {
    return PyLong_FromSize_t(plan_of(object).arena_bytes());
}

PyObject* plan_arenas(PyObject* object, void*) {
    return PyLong_FromSize_t(plan_of(object).arenas());
}

PyMethodDef methods[] = {
    {"run", plan_run, METH_O,
     "run(buffers)\n--\n\n"
     "Run all steps; `buffers` is a list with the memory of each slot that the Plan has none for."},
    {},
};

PyGetSetDef attributes[] = {
    {"arena_bytes", plan_arena_bytes, nullptr, "The size of one arena.", nullptr},
    {"arenas", plan_arenas, nullptr,
     "In how many it ran: as many as there were runs of it at once.", nullptr},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("Plan(slots, steps, arena_bytes)\n--\n\n"
                                  "A list of kernel calls that one call runs: see _simd.pyi.")},
    {Py_tp_new, reinterpret_cast<void*>(plan_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(plan_dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, nullptr},
};

PyType_Spec spec = {"tutor.backends.simd_cpp._simd.Plan", sizeof(PlanObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

bool make_plan_type() {
    plan_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return plan_type != nullptr;
}

}  // namespace tutor
