//===- WeightLayouts.h - Memory layouts of an engine's weights --------------===//
#pragma once

#include "runtime/formats/FragmentLayout.h"
#include "runtime/schema/engine_generated.h"

namespace ingot::runtime {

/// The shape of a weight that is not a vector, as a stack of matrices; a weight with two dimensions is a
/// stack of one. The table must have passed Verify.h.
struct WeightShape {
  int64_t matrices, rows, columns;
};
inline WeightShape shapeOf(const fb::Weight &weight) {
  const auto &shape = *weight.shape();
  const unsigned last = shape.size() - 1;
  return {last == 2 ? int64_t(shape.Get(0)) : 1, int64_t(shape.Get(last - 1)),
          int64_t(shape.Get(last))};
}

/// Returns whether a stack is cut into the same tiles of 16 rows as one matrix with all of its rows would be.
inline bool rowsFillTiles(const fb::Weight &weight) {
  const WeightShape shape = shapeOf(weight);
  return shape.matrices == 1 || shape.rows % kFragmentRows == 0;
}

/// Returns the layout of a weight with layout Panel32, and of one with layout Fragment16.
inline PanelLayout panelLayoutOf(const fb::Weight &weight) {
  const WeightShape shape = shapeOf(weight);
  return panelLayout(*weightFormatNamed(weight.format()->string_view()), shape.rows, shape.columns,
                     shape.matrices);
}
inline FragmentLayout fragmentLayoutOf(const fb::Weight &weight) {
  const WeightShape shape = shapeOf(weight);
  return fragmentLayout(*weightFormatNamed(weight.format()->string_view()), shape.rows,
                        shape.columns, shape.matrices);
}

} // namespace ingot::runtime
