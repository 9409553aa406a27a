//===- Products.h - Matrix products with reproducible bits -----------------===//
//
// The errors that the interpreter measures are stored in the engine, and an engine must not depend on the
// machine that built it. A tuned BLAS splits K by the size of its caches; here every dot product is computed,
// on any machine and with any number of threads, as
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

/// y[t][n] = dot(x[t], w[n]) for `rows` rows of `w` (of x.columns values each); y[t][n] is at y + t * yStride
/// + n. Runs on all cores.
void multiplyRows(const Matrix &x, const float *w, int64_t rows, float *y, int64_t yStride);

} // namespace ingot::reference
