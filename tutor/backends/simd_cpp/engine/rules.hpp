// The shape rules, one per form of kernel: the twin of tutor/backends/shape_rules.py.
//
// Each rule has two uses. Before a call it infers the result's shape. At the border, where operands
// come from anywhere, border/checks.cpp compares them with what the rule infers.
#pragma once

#include "kernel.hpp"

namespace tutor {

// Infers the shape of `out` from the inputs and the parameters. `out` is also read where these
// leave a size open: a fill has the shape asked for, a weight's gradient its window, a padding its
// ends, and a cross entropy is one number (no axes) or one per row. Returns false if the inputs do
// not fit together.
bool infer(Form form, const Operand* ins, int count, const Params& params, Operand* out);

// Changes the inputs' walks to what the kernel needs for this `out`: stretched with stride 0, or
// cut. The inputs have passed `infer`.
void fit(Form form, const Operand& out, Operand* ins, int count, const Params& params);

// Gives x that shape, with stride 0 along each stretched axis. Returns false if x does not
// broadcast to it.
bool stretch(Operand* x, const int64_t* shape, int ndim);

// The same with the leading axes of `out`, keeping the last `kept` of x's own.
bool stretch_leading(Operand* x, const Operand& out, int kept);

// Sets row-major strides as tutor/_storage/layout.py does. Returns the number of elements, or -1 if
// there are too many.
int64_t lay_out(Operand* out);

// Whether a and b have the same shape except along axis `but`.
bool alike(const Operand& a, const Operand& b, int64_t but = -1);

// Parts of `infer`, in windows.cpp.
bool infer_conv(const Operand& x, const Operand& w, const Params& params, Operand* z);
bool infer_conv_weight(const Operand& x, const Operand& g, const Params& params, Operand* z);
bool infer_pool(const Operand& x, const Params& params, Operand* z);
bool infer_pool_grad(const Operand* ins, const Params& params, Operand* z);

}  // namespace tutor
