// What Within.__enter__ and __exit__ of tutor/_util/context_settings.py do, without a bytecode in
// between at which an interrupt could come.
//
// A `with` statement looks up __exit__ and keeps the result until it has called it. So the look-up
// makes a Leave, and entering ties the block to it. If the statement drops the Leave uncalled, the
// block ends as well: from Python 3.14 on, an interrupt between __enter__ and the block does that.
#include "engine/settings.hpp"

#include <algorithm>
#include <utility>

#include "engine/classes.hpp"

namespace tutor {
namespace {

struct Leave {
    PyObject head;
    PyObject* within;
    PyObject* entry;  // the key in the setting's `blocks`; nullptr until it is entered
    unsigned long thread;
};

PyTypeObject* leave_type = nullptr;
std::vector<Leave*> looked_up;  // and not entered yet

struct {
    PyObject *block, *blocks, *ended, *entry, *innermost, *setting, *variable;
} names;

// Takes the latest Leave out of those that this thread has looked up; nullptr if there is none.
Leave* take_latest(PyObject* within) {
    const unsigned long thread = PyThread_get_thread_ident();
    const auto found = std::find_if(looked_up.rbegin(), looked_up.rend(), [=](const Leave* leave) {
        return leave->within == within && leave->thread == thread;
    });
    if (found == looked_up.rend()) return nullptr;
    Leave* leave = *found;
    looked_up.erase(std::next(found).base());
    return leave;
}

Ref blocks_of(PyObject* within) {
    Ref setting(PyObject_GetAttr(within, names.setting));
    Ref blocks(setting ? PyObject_GetAttr(setting.get(), names.blocks) : nullptr);
    if (!blocks || PyDict_Check(blocks.get())) return blocks;
    PyErr_SetString(PyExc_TypeError, "the blocks of a Setting are a dict");
    return Ref();
}

PyObject* enter(PyObject*, PyObject* within) {
    Ref block(PyObject_CallMethodNoArgs(within, names.block));  // Python, and nothing has changed
    Ref setting(block ? PyObject_GetAttr(within, names.setting) : nullptr);
    Ref variable(setting ? PyObject_GetAttr(setting.get(), names.variable) : nullptr);
    Ref entry(variable ? PyObject_GetAttr(block.get(), names.entry) : nullptr);
    Ref blocks(entry ? blocks_of(within) : Ref());
    Ref token(blocks ? PyContextVar_Set(variable.get(), block.get()) : nullptr);
    if (!token || PyDict_SetItem(blocks.get(), entry.get(), within) < 0) return nullptr;
    if (Leave* leave = take_latest(within)) leave->entry = entry.release();
    return Py_NewRef(within);
}

// Ends the block of that entry; without one, the innermost block.
PyObject* leave_block(PyObject* within, Ref entry) {
    Ref blocks = blocks_of(within);
    if (!blocks) return nullptr;
    if (!entry || PyDict_Contains(blocks.get(), entry.get()) == 0)
        entry = Ref(PyObject_CallMethodNoArgs(within, names.innermost));
    if (!entry || PyDict_DelItem(blocks.get(), entry.get()) < 0) return nullptr;
    Ref done(PyObject_CallMethodNoArgs(within, names.ended));
    return done ? Py_NewRef(Py_None) : nullptr;
}

PyObject* leave_call(PyObject* self, PyObject*, PyObject*) {
    Leave* leave = reinterpret_cast<Leave*>(self);
    return leave_block(leave->within, Ref(std::exchange(leave->entry, nullptr)));
}

void leave_dealloc(PyObject* self) {
    Leave* leave = reinterpret_cast<Leave*>(self);
    PyTypeObject* type = Py_TYPE(self);
    looked_up.erase(std::remove(looked_up.begin(), looked_up.end(), leave), looked_up.end());
    if (leave->entry) {
        PyObject *error, *value, *traceback;
        PyErr_Fetch(&error, &value, &traceback);
        Ref blocks = blocks_of(leave->within);
        if (!blocks || PyDict_DelItem(blocks.get(), leave->entry) < 0) PyErr_Clear();
        PyErr_Restore(error, value, traceback);
        Py_DECREF(leave->entry);
    }
    Py_DECREF(leave->within);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyType_Slot leave_slots[] = {
    {Py_tp_doc, const_cast<char*>("Leaves a block; freed without a call, it ends it as well.")},
    {Py_tp_call, reinterpret_cast<void*>(leave_call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(leave_dealloc)},
    {0, nullptr},
};

constexpr unsigned FLAGS =
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE;

PyType_Spec leave_spec = {"tutor.backends.simd_cpp._simd.Leave", sizeof(Leave), 0, FLAGS,
                          leave_slots};

// ---- __exit__, as an attribute of the class -----------------------------------------------------

PyObject* exit_get(PyObject* self, PyObject* within, PyObject*) {
    if (!within) return Py_NewRef(self);  // contextlib.ExitStack looks it up on the class
    Leave* leave = PyObject_New(Leave, leave_type);
    if (!leave) return nullptr;
    leave->within = Py_NewRef(within);
    leave->entry = nullptr;
    leave->thread = PyThread_get_thread_ident();
    looked_up.push_back(leave);
    return reinterpret_cast<PyObject*>(leave);
}

PyObject* exit_call(PyObject*, PyObject* args, PyObject*) {
    if (PyTuple_GET_SIZE(args) == 0) return PyErr_SetString(PyExc_TypeError, "__exit__()"), nullptr;
    return leave_block(PyTuple_GET_ITEM(args, 0), Ref());
}

PyType_Slot exit_slots[] = {
    {Py_tp_doc, const_cast<char*>("The descriptor behind Within.__exit__: it makes a Leave.")},
    {Py_tp_call, reinterpret_cast<void*>(exit_call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(exit_get)},
    {0, nullptr},
};

PyType_Spec exit_spec = {"tutor.backends.simd_cpp._simd.Exit", sizeof(PyObject), 0, FLAGS,
                         exit_slots};

PyMethodDef enter_function = {"enter", enter, METH_O,
                              "enter(within)\n--\n\nEnter the block: Within.__enter__."};

}  // namespace

bool add_settings(PyObject* module) {
    names = {PyUnicode_InternFromString("block"),     PyUnicode_InternFromString("blocks"),
             PyUnicode_InternFromString("ended"),     PyUnicode_InternFromString("entry"),
             PyUnicode_InternFromString("innermost"), PyUnicode_InternFromString("setting"),
             PyUnicode_InternFromString("variable")};
    leave_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&leave_spec));
    Ref exit_type(PyType_FromSpec(&exit_spec)), function(PyCFunction_New(&enter_function, nullptr));
    if (!leave_type || !exit_type || !function) return false;
    Ref leave(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(exit_type.get()), 0));
    Ref method(PyInstanceMethod_New(function.get()));  // a built-in function would not be bound
    return leave && method && PyModule_AddObjectRef(module, "leave", leave.get()) == 0 &&
           PyModule_AddObjectRef(module, "enter", method.get()) == 0;
}

}  // namespace tutor
