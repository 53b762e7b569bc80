#include "border/params.hpp"

#include <cmath>
#include <string>

#include "border/code.hpp"
#include "border/errors.hpp"

namespace tutor {

namespace {

// A float as a 64-bit integer: rounded towards 0, clamped to the range; 0 for nan and infinities.
uint64_t integer_of(double number) {
    if (!std::isfinite(number)) return 0;
    if (number >= 0x1p64) return UINT64_MAX;
    if (number >= 0) return static_cast<uint64_t>(number);
    return static_cast<uint64_t>(number <= -0x1p63 ? INT64_MIN : static_cast<int64_t>(number));
}

bool read_number(const Row& row, PyObject* name, PyObject* value, int i, Params* params) {
    if (PyFloat_Check(value)) {
        params->number[i] = PyFloat_AS_DOUBLE(value);
        params->integer[i] = integer_of(params->number[i]);
        return true;
    }
    if (PyLong_Check(value)) {
        params->number[i] = PyLong_AsDouble(value);
        params->integer[i] = PyLong_AsUnsignedLongLongMask(value);
        if (!PyErr_Occurred()) return true;
        PyErr_Clear();
        const char* spelled = PyUnicode_AsUTF8(name);
        if (spelled)
            raise("NumberRangeError", std::string("kernel ") + row.name + ", " + spelled,
                  "no float can hold it", "give a smaller number");
        return false;
    }
    PyErr_Format(PyExc_TypeError, "kernel %s: %U must be an int, a float or a bool, not %s",
                 row.name, name, Py_TYPE(value)->tp_name);
    return false;
}

// Reads an int or a tuple of ints into params->axis.
bool read_integers(const Row& row, PyObject* name, PyObject* value, Params* params) {
    bool many = PyTuple_Check(value);
    Py_ssize_t count = many ? PyTuple_GET_SIZE(value) : 1;
    if (count > MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "kernel %s: %U names more than %d axes", row.name, name,
                     MAX_DIMS);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* item = many ? PyTuple_GET_ITEM(value, i) : value;
        if (!PyLong_Check(item)) {
            PyErr_Format(PyExc_TypeError, "kernel %s: %U must be an int or a tuple of ints, not %R",
                         row.name, name, value);
            return false;
        }
        params->axis[i] = nearest_int64(item);
    }
    params->axis_count = static_cast<int>(count);
    return true;
}

// Counts negative axes from the end. Each axis must exist and be named once. Only reductions, and
// kernels that may end in one, take any number of axes.
bool check_axes(const Row& row, int ndim, Params* params) {
    if (row.form != Form::Reduce && row.form != Form::Fused && params->axis_count != 1) {
        raise("AxisError", std::string("kernel ") + row.name,
              std::to_string(params->axis_count) + " axes", "name one axis");
        return false;
    }
    bool named[MAX_DIMS] = {};
    for (int i = 0; i < params->axis_count; ++i) {
        int64_t given = params->axis[i];
        int64_t axis = given < 0 ? given + ndim : given;
        bool there = 0 <= axis && axis < ndim;
        if (!there || named[axis]) {
            raise("AxisError",
                  std::string("kernel ") + row.name + ", axis " + std::to_string(given),
                  there ? "it is named twice" : "the input has " + std::to_string(ndim) + " axes",
                  "name each axis once, from -ndim to ndim - 1");
            return false;
        }
        named[axis] = true;
        params->axis[i] = axis;
    }
    return true;
}

// Sizes, strides, dilations and groups are counts: each must be an integer of at least 1.
bool check_window(const Row& row, const Keywords& keywords, int count, const Params& params) {
    bool counts = row.form == Form::Conv || row.form == Form::ConvWeight ||
                  row.form == Form::Pool || row.form == Form::PoolGrad;
    for (int i = 0; counts && i < count; ++i) {
        double number = params.number[i];
        if (number >= 1 && number < 0x1p63 && std::floor(number) == number) continue;
        const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords.names, i));
        if (!name) return false;
        std::string text = std::to_string(number);
        raise("DomainError", std::string("kernel ") + row.name + ", " + name,
              "it is " + text.substr(0, text.find_last_not_of(".0") + 1),
              "give a whole number from 1 on");
        return false;
    }
    return true;
}

// The value given for `name`, or nullptr.
PyObject* find(PyObject* name, PyObject* given, Py_ssize_t count, PyObject* const* values) {
    for (Py_ssize_t g = 0; g < count; ++g) {  // keywords in Python source are interned as well
        if (PyTuple_GET_ITEM(given, g) == name) return values[g];
    }
    for (Py_ssize_t g = 0; g < count; ++g) {
        if (PyUnicode_Compare(PyTuple_GET_ITEM(given, g), name) == 0) return values[g];
    }
    return nullptr;
}

}  // namespace

bool make_keywords(const Row& row, Keywords* keywords) {
    PyObject* text = PyUnicode_FromString(row.params ? row.params : "");
    PyObject* list = text ? PyUnicode_Split(text, nullptr, -1) : nullptr;
    keywords->names = list ? PyList_AsTuple(list) : nullptr;
    Py_XDECREF(list);
    Py_XDECREF(text);
    if (!keywords->names) return false;
    Py_ssize_t count = PyTuple_GET_SIZE(keywords->names);
    if (count > MAX_PARAMS) {
        PyErr_Format(PyExc_SystemError, "kernel %s has more than %d keywords", row.name,
                     MAX_PARAMS);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyUnicode_InternInPlace(&PyTuple_GET_ITEM(keywords->names, i));
        PyObject* name = PyTuple_GET_ITEM(keywords->names, i);
        auto is = [name](const char* t) { return !PyUnicode_CompareWithASCIIString(name, t); };
        keywords->kinds[i] = is("axis")     ? Keywords::Axis
                             : is("before") ? Keywords::Before
                             : is("code")   ? Keywords::Code
                                            : Keywords::Number;
    }
    return true;
}

bool read_params(const Row& row, const Keywords& keywords, PyObject* given, PyObject* const* values,
                 const Operands& operands, Params* params) {
    params->axis_count = 0;
    Py_ssize_t wanted = PyTuple_GET_SIZE(keywords.names);
    Py_ssize_t count = given ? PyTuple_GET_SIZE(given) : 0;
    int numbers = 0;
    PyObject* code = nullptr;
    for (Py_ssize_t w = 0; w < wanted; ++w) {
        PyObject* name = PyTuple_GET_ITEM(keywords.names, w);
        PyObject* value = find(name, given, count, values);
        if (!value) {
            PyErr_Format(PyExc_TypeError, "kernel %s: keyword argument %R is missing", row.name,
                         name);
            return false;
        }
        if (keywords.kinds[w] == Keywords::Code) {
            code = value;
            continue;
        }
        if (keywords.kinds[w] == Keywords::Number) {
            if (!read_number(row, name, value, numbers++, params)) return false;
            continue;
        }
        if (!read_integers(row, name, value, params)) return false;
        bool is_axis = keywords.kinds[w] == Keywords::Axis;
        if (is_axis && !check_axes(row, operands[1].ndim, params)) return false;
    }
    if (!check_window(row, keywords, numbers, *params)) return false;
    for (Py_ssize_t g = 0; count > wanted && g < count; ++g) {
        PyObject* name = PyTuple_GET_ITEM(given, g);
        int known = PySequence_Contains(keywords.names, name);
        if (known < 0) return false;
        if (!known) {
            PyErr_Format(PyExc_TypeError, "kernel %s: keyword argument %R is not among %R",
                         row.name, name, keywords.names);
            return false;
        }
    }
    return !code || read_code(row, code, operands, params);
}

}  // namespace tutor
