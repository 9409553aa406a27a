//===- WeightLayouts.h - How the weights of an engine lie -------------------===//
#pragma once

#include "runtime/formats/FragmentLayout.h"
#include "runtime/schema/engine_generated.h"

namespace ingot::runtime {

/// The last three dimensions of a weight that is no vector; one matrix, if there are two. Of tables that passed
/// Verify.h.
struct WeightShape {
  int64_t matrices, rows, columns;
};
inline WeightShape shapeOf(const fb::Weight &weight) {
  const auto &shape = *weight.shape();
  const unsigned last = shape.size() - 1;
  return {last == 2 ? int64_t(shape.Get(0)) : 1, int64_t(shape.Get(last - 1)),
          int64_t(shape.Get(last))};
}

/// Whether rows of a stack lie in tiles of 16 as those of a matrix of all its rows do.
inline bool rowsFillTiles(const fb::Weight &weight) {
  const WeightShape shape = shapeOf(weight);
  return shape.matrices == 1 || shape.rows % kFragmentRows == 0;
}

/// Of a weight of layout Panel32, and of one of layout Fragment16.
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
