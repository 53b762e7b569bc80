// The rules for shapes, one for each form of kernel: the twin of tutor/backends/shape_rules.py.
//
// The same function serves twice. Before a call it says which shape the result will have. At the
// border, where operands come from anywhere, border/checks.cpp asks it what fits and compares.
#pragma once

#include "kernel.hpp"

namespace tutor {

// The shape of `out`, given the inputs and the parameters. `out` is read, too, where these leave it
// open: a fill has the shape that is asked for, a weight's gradient its window, what is padded its
// ends, and a cross entropy is one number (no axes) or one for each row. false if the inputs do not
// fit together.
bool infer(Form form, const Operand* ins, int count, const Params& params, Operand* out);

// Lets the inputs be walked as the kernel wants them for such an `out`: stretched by strides of 0,
// or cut. They have passed `infer`.
void fit(Form form, const Operand& out, Operand* ins, int count, const Params& params);

// x walked as if it had that shape: stride 0 along each axis that is stretched. false if it does
// not stretch to it.
bool stretch(Operand* x, const int64_t* shape, int ndim);

// The same for as many axes as `out` has, but the last `kept` of x's own.
bool stretch_leading(Operand* x, const Operand& out, int kept);

// Row-major strides, as tutor/_storage/layout.py has them, and the number of elements; -1: too
// many.
int64_t lay_out(Operand* out);

// Whether a and b have the same shape, not regarding axis `but`.
bool alike(const Operand& a, const Operand& b, int64_t but = -1);

// Parts of `infer`, in windows.cpp.
bool infer_conv(const Operand& x, const Operand& w, const Params& params, Operand* z);
bool infer_conv_weight(const Operand& x, const Operand& g, const Params& params, Operand* z);
bool infer_pool(const Operand& x, const Params& params, Operand* z);
bool infer_pool_grad(const Operand* ins, const Params& params, Operand* z);

}  // namespace tutor
