// The matrix product, for any layout of its operands: (..., m, k) @ (..., k, n) -> (..., m, n).
// How one product is computed stands in gemm.hpp; here its operands become matrices.
#include "matmul_steps.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// The last two axes of an operand. T may be unsigned where the dtype is signed.
template <class T>
Matrix<T> matrix(const Operand& x) {
    const int r = x.ndim - 2, c = x.ndim - 1;
    return {reinterpret_cast<T*>(x.data), x.shape[r], x.shape[c], x.strides[r], x.strides[c]};
}

template <class T>
Status run(const Operand& out, const Operand* ins, int, const Params&) {
    Matrix<T> c = matrix<T>(out);
    Matrix<const T> a = matrix<const T>(ins[0]), b = matrix<const T>(ins[1]);

    Nest batch;
    for (int d = 0; d < out.ndim - 2; ++d)
        batch.add(out.shape[d], {out.strides[d], ins[0].strides[d], ins[1].strides[d], 0});
    // Many matrices times the same one are one tall matrix times that one, if their rows follow on.
    while (batch.depth > 0) {
        const int64_t size = batch.size[batch.depth - 1];
        const auto& stride = batch.stride[batch.depth - 1];
        if (c.rows == 1) c.row = stride[0], a.row = stride[1];
        if (stride[2] != 0 || stride[0] != c.rows * c.row || stride[1] != a.rows * a.row) break;
        c.rows = a.rows = size * c.rows;
        --batch.depth;
    }
    const int64_t count = batch.count();
    if (count == 0 || c.rows == 0 || c.cols == 0) return {Status::Ok, 0, 0};

    // Vectors lie along the rows of C. Where its columns are contiguous instead, or a row does not
    // fill a vector and columns of A do: C^T = B^T A^T.
    if (c.cols == 1) c.col = 1;
    const bool upright = c.col != 1 && c.row == 1 && c.rows > 1;
    const bool thin = c.cols < lanes<Computed<T>> && c.cols < c.rows && (a.row == 1 || c.cols == 1);
    if (upright || thin) {
        const Matrix<const T> left = a;
        c = c.transposed(), a = b.transposed(), b = left.transposed();
        for (int d = 0; d < batch.depth; ++d) std::swap(batch.stride[d][1], batch.stride[d][2]);
    }

    const Tiles tiles = tiles_of<Computed<T>>(c.rows, c.cols, a.cols);
    const int64_t cost = tiles.height * tiles.width * smaller(a.cols, GRAIN);
    bool failed = false;
    parallel_each(count * tiles.count(), cost, GRAIN, [&](int64_t piece) {
        int64_t offset[MAX_OPERANDS];
        batch.locate(piece / tiles.count(), offset);
        Matrix<T> c_here = c;
        Matrix<const T> a_here = a, b_here = b;
        c_here.data += offset[0], a_here.data += offset[1], b_here.data += offset[2];
        if (!multiply_tile(a_here, b_here, c_here, tiles, piece % tiles.count()))
            __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
    });
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

// One of the steps of matmul_steps.hpp, product by product.
template <auto step>
Status run_step(const Operand& out, const Operand* ins, int, const Params&) {
    Matrix<float> c = matrix<float>(out);
    Matrix<const float> a = matrix<const float>(ins[0]), b = matrix<const float>(ins[1]);
    Nest batch;
    for (int d = 0; d < out.ndim - 2; ++d)
        batch.add(out.shape[d], {out.strides[d], ins[0].strides[d], ins[1].strides[d], 0});
    bool done = true;
    for (int64_t n = 0; n < batch.count() && c.rows > 0 && c.cols > 0; ++n) {
        int64_t offset[MAX_OPERANDS];
        batch.locate(n, offset);
        Matrix<float> c_here = c;
        Matrix<const float> a_here = a, b_here = b;
        c_here.data += offset[0], a_here.data += offset[1], b_here.data += offset[2];
        if constexpr (std::is_void_v<decltype(step(a, b, c))>)
            step(a_here, b_here, c_here);
        else
            done &= step(a_here, b_here, c_here);
    }
    return {done ? Status::Ok : Status::OutOfMemory, 0, 0};
}

const Row rows[] = {
    {"matmul.naive", Float32, Form::MatMul, "TTT", "", run_step<matmul_naive<float>>},
    {"matmul.ikj", Float32, Form::MatMul, "TTT", "", run_step<matmul_ikj<float>>},
    {"matmul.tiled", Float32, Form::MatMul, "TTT", "", run_step<matmul_tiled<float>>},
    {"matmul.packed", Float32, Form::MatMul, "TTT", "", run_step<matmul_packed<float>>},
    {"matmul.threaded", Float32, Form::MatMul, "TTT", "", run_step<matmul_threaded<float>>},
    {"matmul", Int8, Form::MatMul, "TTT", "", run<uint8_t>},
    {"matmul", Int16, Form::MatMul, "TTT", "", run<uint16_t>},
    {"matmul", Int32, Form::MatMul, "TTT", "", run<uint32_t>},
    {"matmul", Int64, Form::MatMul, "TTT", "", run<uint64_t>},
    {"matmul", UInt8, Form::MatMul, "TTT", "", run<uint8_t>},
    {"matmul", UInt16, Form::MatMul, "TTT", "", run<uint16_t>},
    {"matmul", UInt32, Form::MatMul, "TTT", "", run<uint32_t>},
    {"matmul", UInt64, Form::MatMul, "TTT", "", run<uint64_t>},
    {"matmul", Float16, Form::MatMul, "TTT", "", run<half_t>},
    {"matmul", BFloat16, Form::MatMul, "TTT", "", run<bfloat_t>},
    {"matmul", Float32, Form::MatMul, "TTT", "", run<float>},
    {"matmul", Float64, Form::MatMul, "TTT", "", run<double>},
};

}  // namespace

Rows matmul() { return {rows, sizeof rows / sizeof *rows}; }

}  // namespace TUTOR_LEVEL
}  // namespace tutor
