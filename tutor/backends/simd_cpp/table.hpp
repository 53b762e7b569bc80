// A file's table of kernels, from names and functions alone:
//
//     TABLE(arithmetic,                  // kernels/arithmetic.cpp
//           KERNEL(add, run<Add, T>),    // for each dtype T that signatures.py gives `add`
//           KERNEL(sub, run<Sub, T>))
//
// The rest of a row (form, types, parameters) comes from signatures.py, by way of the generated
// header `arithmetic.rows.hpp`: see generate.py.
#pragma once

#include "parts.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// A row's function, and the parts of it of which other kernels are made.
struct Parts {
    KernelFunction run;
    const Work* work = nullptr;
    const Reducer* reducer = nullptr;

    constexpr Parts(KernelFunction what) : run(what) {}
    constexpr Parts(KernelFunction what, const Work* with, const Reducer* by = nullptr)
        : run(what), work(with), reducer(by) {}
};

// A line of signatures.py.
struct Signature {
    const char* name;
    Form form;
    const char* types;
    const char* params;
    uint32_t dtypes;  // bit d is set where the kernel is for dtype d

    constexpr int count() const {
        int bits = 0;
        for (int d = 0; d < DTYPES; d++) bits += dtypes >> d & 1;
        return bits;
    }
    constexpr Row row(DType dtype, const Parts& function) const {
        return {name, dtype, form, types, params, function.run, function.work, function.reducer};
    }
    constexpr Row variant(const char* its_name, KernelFunction run) const {
        return {its_name, Float32, form, types, params, run, nullptr, nullptr};
    }
};

template <int COUNT>
struct RowsOf {
    Row rows[COUNT] = {};
    static constexpr int count = COUNT;
};

// A row for each dtype of the signature; function(T{}) gives the function for the C++ type T.
template <const Signature& signature, class Function>
constexpr auto rows_of(Function function) {
    RowsOf<signature.count()> all;
    int next = 0;
#define ROW(dtype, type, format)                        \
    if constexpr ((signature.dtypes >> dtype & 1) != 0) \
        all.rows[next++] = signature.row(dtype, function(type{}));
    TUTOR_FOR_EACH_DTYPE(ROW)
#undef ROW
    return all;
}

template <class... Several>
constexpr auto joined(const Several&... several) {
    RowsOf<(Several::count + ...)> all;
    int next = 0;
    const auto add = [&](const auto& some) {
        for (const Row& row : some.rows) all.rows[next++] = row;
    };
    (add(several), ...);
    return all;
}

// A kernel's name in signatures.py, and its function for the dtype whose C++ type is T.
#define KERNEL(name, ...)                           \
    rows_of<signatures::name>([](auto value) {      \
        using T [[maybe_unused]] = decltype(value); \
        return Parts(__VA_ARGS__);                  \
    })

// A step on the way from a kernel's definition to the one in use, for float32 and under a name of
// its own: STEP(matmul, naive, ...) is "matmul.naive".
#define STEP(kernel, step, ...)                                        \
    RowsOf<1> {                                                        \
        {                                                              \
            signatures::kernel.variant(#kernel "." #step, __VA_ARGS__) \
        }                                                              \
    }

// The table that a kernel file exports, by the file's name.
#define TABLE(file, ...)                        \
    namespace {                                 \
    constexpr auto table = joined(__VA_ARGS__); \
    }                                           \
    Rows file() { return {table.rows, decltype(table)::count}; }

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
