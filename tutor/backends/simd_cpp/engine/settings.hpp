// The `with` blocks that change a setting: the twins of Within.__enter__ and __exit__.
#pragma once

#include <Python.h>

namespace tutor {

// Adds `enter` and `leave` to the module, in the form in which a class takes them as its methods.
bool add_settings(PyObject* module);

}  // namespace tutor
