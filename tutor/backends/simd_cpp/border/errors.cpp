#include "border/errors.hpp"

namespace tutor {

PyObject* raise(const char* type, const std::string& asked, const std::string& found,
                const std::string& advice) {
    PyObject* errors = PyImport_ImportModule("tutor.errors");
    PyObject* cls = errors ? PyObject_GetAttrString(errors, type) : nullptr;
    PyObject* error =
        cls ? PyObject_CallFunction(cls, "sss", asked.c_str(), found.c_str(), advice.c_str())
            : nullptr;
    if (error) PyErr_SetObject(cls, error);  // otherwise the failed step has set an error
    Py_XDECREF(error);
    Py_XDECREF(cls);
    Py_XDECREF(errors);
    return nullptr;
}

std::string text_of(const int64_t* shape, int ndim) {
    std::string text = "(";
    for (int d = 0; d < ndim; ++d) text += (d ? ", " : "") + std::to_string(shape[d]);
    return text + (ndim == 1 ? ",)" : ")");
}

std::string name_of(DType dtype) {
    static const char* const names[DTYPES] = {
#define ROW(name, type, format) #name,
        TUTOR_FOR_EACH_DTYPE(ROW)
#undef ROW
    };
    std::string name = names[dtype];  // the enum's name is Python's, except for capital letters
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
    return name;
}

}  // namespace tutor
