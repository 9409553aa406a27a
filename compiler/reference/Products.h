//===- Products.h - Matrix products with reproducible bits -----------------===//
//
// The errors that the interpreter measures are stored in the engine, and an engine must not depend on the machine that
// built it. A tuned BLAS would split K by the size of the machine's caches. Here, every machine computes every dot
// product as follows, with any number of threads:
//
//   lane[l] = sum over j, in order, of x[8j + l] * w[8j + l]     l = 0..7, in f32
//   dot     = ((lane0 + lane4) + (lane1 + lane5)) + ((lane2 + lane6) + (lane3 + lane7))
//
// with the last, partial group padded with zeros, and without fused multiply-add.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Matrix.h"

namespace ingot::reference {

float dot(const float *x, const float *w, int64_t k);

/// Computes y[t][n] = dot(x[t], w[n]) on all cores. `w` has `rows` rows of x.columns values, and y[t][n] is at y + t *
/// yStride + n.
void multiplyRows(const Matrix &x, const float *w, int64_t rows, float *y, int64_t yStride);

} // namespace ingot::reference
