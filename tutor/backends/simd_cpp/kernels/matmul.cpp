// The matrix product, for any layout of its operands: (..., m, k) @ (..., k, n) ->
// (..., m, n); and the linear layer, which adds a bias. gemm.hpp computes one product; here
// its operands become matrices.
#include "kernels/matmul_steps.hpp"
#include "matmul.rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// The last two axes of an operand. T may be unsigned where the dtype is signed.
template <class T>
Matrix<T> matrix(const Operand& x) {
    const int r = x.ndim - 2, c = x.ndim - 1;
    return {reinterpret_cast<T*>(x.data), x.shape[r], x.shape[c], x.strides[r], x.strides[c]};
}

// C = A B for each index of `batch`, finished; its strides are those of C, A and B.
template <class T, class F = Computed<T>>
Status multiply(Matrix<const T> a, Matrix<const T> b, Matrix<T> c, Nest batch, Finish<F> finish) {
    // Many matrices times the same one are one tall matrix times it, if their rows follow on.
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

    // Vectors lie along the rows of C. If its columns are contiguous instead, or a row does not
    // fill a vector and columns of A do: C^T = B^T A^T.
    if (c.cols == 1) c.col = 1;
    const bool upright = c.col != 1 && c.row == 1 && c.rows > 1;
    const bool thin = c.cols < lanes<F> && c.cols < c.rows && (a.row == 1 || c.cols == 1);
    if (upright || thin) {
        const Matrix<const T> left = a;
        c = c.transposed(), a = b.transposed(), b = left.transposed();
        for (int d = 0; d < batch.depth; ++d) std::swap(batch.stride[d][1], batch.stride[d][2]);
        finish.per_row = true;
    }

    const Tiles tiles = tiles_of<F>(c.rows, c.cols, a.cols);
    // What follows goes by whole rows. Half ones, 2 KiB of each page, took longer than all rows
    // after the product: the CPU fetches what follows them in memory, too, and it is not needed
    // yet.
    if (tiles.across > 1) finish.then = nullptr;
    const int64_t cost = tiles.height * tiles.width * smaller(a.cols, GRAIN);
    bool failed = false;
    parallel_each(count * tiles.count(), cost, GRAIN, [&](int64_t piece) {
        int64_t offset[MAX_OPERANDS];
        batch.locate(piece / tiles.count(), offset);
        Matrix<T> c_here = c;
        Matrix<const T> a_here = a, b_here = b;
        c_here.data += offset[0], a_here.data += offset[1], b_here.data += offset[2];
        if (!multiply_tile(a_here, b_here, c_here, tiles, piece % tiles.count(), finish))
            __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
    });
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

template <class T>
Status run(const Operand& out, const Operand* ins, int, const Params& params) {
    Nest batch;
    for (int d = 0; d < out.ndim - 2; ++d)
        batch.add(out.shape[d], {out.strides[d], ins[0].strides[d], ins[1].strides[d], 0});
    return multiply(matrix<const T>(ins[0]), matrix<const T>(ins[1]), matrix<T>(out), batch,
                    Finish<Computed<T>>{nullptr, false, false, params.then});
}

// Out and x are rows, one for each index of their leading axes, which `multiply` joins.
template <class T>
Status linear(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const Operand &x = ins[0], &b = ins[2];
    const Matrix<const T> w = matrix<const T>(ins[1]);
    const int last = out.ndim - 1;
    const Matrix<T> z{reinterpret_cast<T*>(out.data), 1, w.rows, 0, out.strides[last]};
    const Matrix<const T> row{reinterpret_cast<const T*>(x.data), 1, w.cols, 0, x.strides[last]};
    Nest batch;
    for (int d = 0; d < last; ++d) batch.add(out.shape[d], {out.strides[d], x.strides[d], 0, 0});

    if (batch.count() == 0 || w.rows == 0) return {Status::Ok, 0, 0};
    const int64_t n = w.rows, room = whole_vectors<F>(n) + SLIVER<F>;
    F* bias = static_cast<F*>(scratch(3, room * sizeof(F)));
    if (bias == nullptr) return {Status::OutOfMemory, 0, 0};
    for (int64_t i = 0; i < room; ++i)
        bias[i] = i < n ? convert<F>(reinterpret_cast<const T*>(b.data)[i * b.strides[0]]) : F(0);
    return multiply(row, w.transposed(), z, batch,
                    Finish<F>{bias, false, params.number[0] != 0, params.then});
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

}  // namespace

// clang-format off
TABLE(matmul,
      STEP(matmul, naive, run_step<matmul_naive<float>>),
      STEP(matmul, ikj, run_step<matmul_ikj<float>>),
      STEP(matmul, tiled, run_step<matmul_tiled<float>>),
      STEP(matmul, lanes, run_step<matmul_lanes<float>>),
      STEP(matmul, packed, run_step<matmul_packed<float>>),
      STEP(matmul, threaded, run_step<matmul_threaded<float>>),
      KERNEL(matmul, run<WithoutSign<T>>),
      KERNEL(linear, linear<T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
