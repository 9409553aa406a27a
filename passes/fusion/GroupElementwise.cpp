//===- GroupElementwise.cpp - The generic grouper -------------------------===//
//
//         linear                 A root and everything up to its immediate
//         /    \                 post-dominator `mul` can be one launch if all
//     scale  activation          ops in between are elementwise: no value of
//         \    /                 the diamond is visible outside. From `mul`, the
//          mul                   search continues to its own post-dominator.
//
// (TVM's operator fusion works similarly: Chen et al., "TVM", OSDI 2018, section 3.)
//===----------------------------------------------------------------------===//
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Model.h"
#include "passes/Passes.h"
#include "passes/fusion/Regions.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dominator_tree.hpp>
#include <boost/graph/reverse_graph.hpp>

namespace ingot {
#define GEN_PASS_DEF_GROUPELEMENTWISEPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

namespace {

/// Immediate post-dominators of the ops of a block in its data flow.
class PostDominators {
public:
  explicit PostDominators(Block &block) {
    for (Operation &op : block)
      numbers[&op] = ops.size(), ops.push_back(&op);
    size_t sink = ops.size();
    Graph graph(sink + 1);
    for (Operation *op : ops) {
      if (op->use_empty())
        boost::add_edge(numbers[op], sink, graph);
      for (Operation *user : op->getUsers())
        boost::add_edge(numbers[op], numbers[block.findAncestorOpInBlock(*user)], graph);
    }
    immediate.assign(sink + 1, Graph::null_vertex());
    boost::lengauer_tarjan_dominator_tree(
        boost::make_reverse_graph(graph), sink,
        boost::make_iterator_property_map(immediate.begin(),
                                          boost::get(boost::vertex_index, graph)));
  }

  Operation *of(Operation *op) const {
    size_t number = immediate[numbers.lookup(op)];
    return number < ops.size() ? ops[number] : nullptr;
  }

private:
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> numbers;
  std::vector<size_t> immediate;
};

struct GroupElementwise : ingot::impl::GroupElementwisePassBase<GroupElementwise> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    for (auto fn : getOperation().getBody().getOps<FunctionOpInterface>())
      blocks.push_back(&fn.getFunctionBody().front());
    for (Block *block : blocks)
      groupBlock(*block);
  }

  static void groupBlock(Block &block) {
    PostDominators postDominators(block);
    SmallVector<OpGroup> groups;
    llvm::SmallPtrSet<Operation *, 32> taken;
    for (Operation &root : block) {
      if (taken.contains(&root) ||
          !(isa<LinearOp, ScaleRowsOp>(root) || isElementwise(&root) || isRowNorm(&root)))
        continue;
      OpGroup group;
      group.insert(&root);
      bool rowwise = !isa<LinearOp>(root);
      auto joins = [&](Operation *op) {
        return (isElementwise(op) || (rowwise && (isRowNorm(op) || isa<ScaleRowsOp>(op)))) &&
               !taken.contains(op) && op->getResult(0).getType() == root.getResult(0).getType();
      };
      for (Operation *from = &root, *to; (to = postDominators.of(from)) && joins(to); from = to) {
        OpGroup between;
        if (!collectBetween(from, to, between, joins))
          break;
        group.insert_range(between);
        group.insert(to);
      }
      if (group.size() < 2)
        remarkMissed(&root, "group", whyAlone(&root, postDominators.of(&root), taken));
      if (group.size() < 2 || !isConvex(group))
        continue;
      taken.insert_range(group);
      groups.push_back(std::move(group));
    }
    for (const OpGroup &group : groups)
      fuse(group, "group");
  }

  /// Why the op that consumes all of the results does not join `root`.
  static std::string whyAlone(Operation *root, Operation *next,
                              const llvm::SmallPtrSetImpl<Operation *> &taken) {
    if (llvm::all_of(root->getUsers(),
                     [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); }))
      return "its results leave the function";
    if (!next || next->hasTrait<OpTrait::IsTerminator>())
      return "no single op consumes all of its results";
    const std::string name = next->getName().getStringRef().str();
    if (auto fused = dyn_cast<FusedOp>(next))
      return "the consumer of its results is already in a launch: " + fused.getPattern().str();
    if (taken.contains(next))
      return "the consumer of its results, " + name + ", is in another group";
    if (!isElementwise(next))
      return "the consumer of its results, " + name + ", is not elementwise";
    if (next->getResult(0).getType() != root->getResult(0).getType())
      return "the consumer of its results, " + name + ", has rows of another type";
    return "an op between it and " + name + " cannot join";
  }

  /// Collects all ops on paths from `from` to `to` in `between`. Returns false if one of them cannot join.
  static bool collectBetween(Operation *from, Operation *to, OpGroup &between,
                             llvm::function_ref<bool(Operation *)> joins) {
    for (Operation *user : from->getUsers()) {
      if (user == to || between.contains(user))
        continue;
      if (!joins(user))
        return false;
      between.insert(user);
      if (!collectBetween(user, to, between, joins))
        return false;
    }
    return true;
  }
};
} // namespace

// Boost is built without exceptions, so it calls these functions instead of throwing. A call is an internal error.
namespace boost {
void throw_exception(const std::exception &error) { llvm::report_fatal_error(error.what()); }
void throw_exception(const std::exception &error, const boost::source_location &) {
  llvm::report_fatal_error(error.what());
}
} // namespace boost
