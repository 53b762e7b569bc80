#include "engine/numbers.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace tutor {

namespace {

DType meeting[DTYPES][DTYPES];
DType beside[3][DTYPES];

bool read_rows(PyObject* rows, int count, DType (*to)[DTYPES]) {
    for (int r = 0; r < count; ++r) {
        for (int d = 0; d < DTYPES; ++d) {
            PyObject* row = PyTuple_Check(rows) ? PyTuple_GetItem(rows, r) : nullptr;
            PyObject* item = row && PyTuple_Check(row) ? PyTuple_GetItem(row, d) : nullptr;
            const long found = item ? PyLong_AsLong(item) : -1;
            if (found < 0 || found >= DTYPES) {
                if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "no table of dtypes");
                return false;
            }
            to[r][d] = DType(found);
        }
    }
    return true;
}

// A Python number as a double. One beyond a double's range is infinite, as float dtypes round it.
double double_of(PyObject* number) {
    if (PyFloat_Check(number)) return PyFloat_AS_DOUBLE(number);
    const double value = PyLong_AsDouble(number);
    if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        int sign;  // of a number beyond long long, as this one is
        PyLong_AsLongLongAndOverflow(number, &sign);
        return sign * std::numeric_limits<double>::infinity();
    }
    return value;
}

template <class T>
void store(Number* room, T value) {
    std::memcpy(room->bytes, &value, sizeof value);
}

// The nearest float16, ties to even.
uint16_t half_of(double value) {
    char bytes[2];
    if (PyFloat_Pack2(value, bytes, PY_LITTLE_ENDIAN) < 0) {  // beyond its range
        PyErr_Clear();
        return value > 0 ? 0x7C00 : 0xFC00;
    }
    uint16_t bits;
    std::memcpy(&bits, bytes, sizeof bits);
    return bits;
}

// The nearest bfloat16. Going through float32 would round twice, so the value is rounded to even in
// units of the last of its 8 bits; the resulting float32 is already a bfloat16.
uint16_t bfloat_of(double value) {
    if (value != 0 && std::fabs(value) < 1e300) {
        int exponent;
        std::frexp(value, &exponent);
        const int unit = exponent - 8 > -133 ? exponent - 8 : -133;
        value = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
    }
    const float single = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &single, sizeof bits);
    return static_cast<uint16_t>(bits >> 16 | (std::isnan(value) ? 0x40 : 0));
}

// Integers within the range of T.
template <class T>
bool store_whole(PyObject* number, Number* room) {
    int overflow;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || value < static_cast<long long>(std::numeric_limits<T>::min()) ||
        value > static_cast<long long>(std::numeric_limits<T>::max()))
        return false;
    return store(room, static_cast<T>(value)), true;
}

bool store_widest(PyObject* number, Number* room) {  // uint64
    const unsigned long long value = PyLong_AsUnsignedLongLong(number);
    if (value == static_cast<unsigned long long>(-1) && PyErr_Occurred())
        return PyErr_Clear(), false;
    return store(room, static_cast<uint64_t>(value)), true;
}

}  // namespace

bool is_number(PyObject* object) { return PyFloat_Check(object) || PyLong_Check(object); }

bool set_promotion(PyObject* pairs, PyObject* numbers) {
    return read_rows(pairs, DTYPES, meeting) && read_rows(numbers, 3, beside);
}

DType meeting_of(DType a, DType b) { return meeting[a][b]; }

DType dtype_beside(PyObject* number, DType dtype) {
    return beside[PyBool_Check(number) ? 0 : PyLong_Check(number) ? 1 : 2][dtype];
}

DType own_dtype(PyObject* number) { return dtype_beside(number, Bool); }

bool pack(PyObject* number, DType dtype, Number* room) {
    room->bits = 0;
    if (dtype < Float16 && dtype != Bool && !PyLong_Check(number)) return false;
    switch (dtype) {
        case Bool:
            return store(room, static_cast<uint8_t>(PyObject_IsTrue(number) == 1)), true;
        case Int8:
            return store_whole<int8_t>(number, room);
        case Int16:
            return store_whole<int16_t>(number, room);
        case Int32:
            return store_whole<int32_t>(number, room);
        case Int64:
            return store_whole<int64_t>(number, room);
        case UInt8:
            return store_whole<uint8_t>(number, room);
        case UInt16:
            return store_whole<uint16_t>(number, room);
        case UInt32:
            return store_whole<uint32_t>(number, room);
        case UInt64:
            return store_widest(number, room);
        case Float16:
            return store(room, half_of(double_of(number))), true;
        case BFloat16:
            return store(room, bfloat_of(double_of(number))), true;
        case Float32:
            return store(room, static_cast<float>(double_of(number))), true;
        default:
            return store(room, double_of(number)), true;
    }
}

}  // namespace tutor
