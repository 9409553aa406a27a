//===- RowEncodingsTest.cpp - A third implementation of the row encodings -===//
#include "PanelReference.h"

#include "compiler/reference/interpreter/RowEncodings.h"
#include "runtime/formats/FragmentLayout.h"

using namespace ingot;
using namespace ingot::reference::interpreter;
using kernel::ActivationType;
using kernel::RowKind;

/// Rows must be quantised to the same bits as in the tests of the generators.
TEST(RowEncodings, QuantisedRowsAreThoseOfTheKernels) {
  mlir::MLIRContext context;
  context.loadDialect<kernel::KernelDialect>();
  for (int64_t n : {32, 97, 160})
    for (int planes : {1, 2}) {
      codegen::cpu::test::Buffer<float> x = codegen::cpu::test::randomRows(2, n, 7, 3);
      x[3] = 0.5f;
      for (int64_t i = 0; i < 32; ++i)
        x[f32RowBytes(n) / 4 + i] = i % 2 ? 1e-40f : -1e-41f; // too small to be scaled
      codegen::cpu::test::Buffer<char> expected = codegen::cpu::test::quantizeRows(x, 2, n, planes);
      ActivationType type =
          ActivationType::get(&context, n, planes == 1 ? RowKind::Q8 : RowKind::Q8x2);
      for (int64_t t = 0; t < 2; ++t) {
        std::vector<std::byte> row(size_t(type.rowBytes()));
        const float *values = x.data() + t * f32RowBytes(n) / 4;
        encodeRow(type, {values, size_t(n)}, row.data());
        EXPECT_EQ(std::memcmp(row.data(), expected.data() + t * type.rowBytes(), row.size()), 0)
            << n << " x " << planes << ", row " << t;
        std::vector<float> decoded(static_cast<size_t>(n));
        decodeRow(type, row.data(), decoded);
        for (int64_t i = 0; i < n; ++i)
          EXPECT_NEAR(decoded[size_t(i)], values[i], planes == 1 ? 0.0120f : 0.0001f);
      }
    }
}

TEST(RowEncodings, FloatsComeBack) {
  mlir::MLIRContext context;
  context.loadDialect<kernel::KernelDialect>();
  const std::vector<float> values = {1, -2.5f, 448, 0.0625f, 0, -0.875f};
  for (RowKind kind : {RowKind::F32, RowKind::BF16, RowKind::FP8}) {
    ActivationType type = ActivationType::get(&context, int64_t(values.size()), kind);
    std::vector<std::byte> row(size_t(type.rowBytes()));
    encodeRow(type, values, row.data());
    std::vector<float> decoded(values.size());
    decodeRow(type, row.data(), decoded);
    EXPECT_EQ(decoded, values);
  }
}

TEST(RowEncodings, KeysSortAsLogitsDo) {
  EXPECT_GT(keyOf(2, 7), keyOf(1, 3));
  EXPECT_GT(keyOf(-1, 7), keyOf(-2, 3));
  EXPECT_GT(keyOf(1, 3), keyOf(1, 4)); // of equal logits, the lowest index wins
  EXPECT_EQ(keyOf(-0.0f, 3), keyOf(0.0f, 3));
  EXPECT_EQ(keyOf(NAN, 3), 0u);
  EXPECT_EQ(idOf(keyOf(-3, 41)), 41);
}
