//===- Routes.h - Assignment of rows to experts ----------------------------===//
//
// A router assigns several experts to each token, which makes as many pairs (token, expert). Pairs are sorted by token
// and then by expert. Rows are the same pairs sorted by expert and then by token:
//
//   used = 2     token 0: experts 1, 4     token 1: experts 0, 1
//   pairs        (0,1)  (0,4)  (1,0)  (1,1)
//   rows         (1,0)  (0,1)  (1,1)  (0,4)
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Matrix.h"
#include "dialects/lm/LmDialect.h"

#include <span>
#include <vector>

namespace ingot::lm {
class RouteOp;
}

namespace ingot::reference {

struct Routes {
  int64_t experts = 0, used = 0;
  std::vector<int32_t> expert; ///< expert of each pair, ascending within a token
  std::vector<float> weight;   ///< weight of each pair
  std::vector<int32_t> row;    ///< row of each pair
  std::vector<int32_t> token;  ///< token of each row
  std::vector<int32_t> pair;   ///< pair of each row

  int32_t expertOf(int64_t p) const {
    return expert[static_cast<size_t>(pair[static_cast<size_t>(p)])];
  }
};

/// Describes how a router chooses experts: the attributes of lm.route and of kernel.route.
struct RouteRules {
  int64_t experts, used;
  lm::RouteScore score;
  lm::RouteNorm normalize;
  int64_t groups, usedGroups;
  lm::GroupScore groupScore;
  float normEps, normFloor, scale;

  /// Reads the rules of lm.route or kernel.route. The attributes of the two ops have the same names.
  template <typename Op> static RouteRules of(Op op) {
    const auto type = op.routesType();
    return {type.getExperts(),
            type.getUsed(),
            op.getScore(),
            op.getNormalize(),
            int64_t(op.getGroups()),
            int64_t(op.getUsedGroups()),
            op.getGroupScore(),
            op.getNormEps().convertToFloat(),
            op.getNormFloor().convertToFloat(),
            op.getScale().convertToFloat()};
  }
};

/// Chooses the experts of a token and computes their weights from its logits. Experts are in ascending order. `bias`
/// and `expertScale` may be empty.
void chooseExperts(const RouteRules &rules, std::span<const float> logits,
                   std::span<const float> bias, std::span<const float> expertScale,
                   std::span<int32_t> experts, std::span<float> weights);

/// Fills `row`, `token` and `pair` from `expert`.
void groupRows(Routes &routes);

/// Returns one row for each row of the routes: a copy of the row of x of its token.
Matrix dispatch(const Matrix &x, const Routes &routes);
/// Permutes the columns of each row in the order of its expert (orderStride).
Matrix permute(const Matrix &x, std::span<const float> columns, const Routes &routes);
/// Returns the weighted sum of the rows of each token, in order of its pairs.
Matrix combine(const Matrix &x, const Routes &routes);

} // namespace ingot::reference
