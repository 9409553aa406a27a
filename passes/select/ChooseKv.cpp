//===- ChooseKv.cpp - Per-layer formats of KV caches ------------------------===//
#include "dialects/lm/ops/Layers.h"
#include "passes/Passes.h"
#include "runtime/formats/KvFormat.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

namespace ingot {
#define GEN_PASS_DEF_CHOOSEKVPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

/// For each layer the new element type of its caches; null to keep the present one.
using Elements = SmallVector<StringAttr>;

static void setElement(LayerKindOp kind, StringAttr element) {
  for (auto [i, type] : llvm::enumerate(kind.stateTypes()))
    if (cast<StateType>(type).paged())
      kind.setElement(unsigned(i), element);
}

/// Gives each layer a kind whose caches have the layer's element type. Layers without a new element type keep the
/// original kind; if there are none, the layers with the first element type keep it.
static void splitKinds(SymbolTable &symbols, LayersOp layers, const Elements &elements) {
  SmallVector<FlatSymbolRefAttr> kinds(layers.getKinds().getAsRange<FlatSymbolRefAttr>());
  llvm::MapVector<StringAttr, llvm::SetVector<StringAttr>> wanted; // element types by kind
  for (auto [kind, element] : llvm::zip(kinds, elements))
    wanted[kind.getAttr()].insert(element);
  llvm::DenseMap<std::pair<StringAttr, StringAttr>, Attribute> kindOf;
  for (auto &[name, own] : wanted) {
    auto original = cast<LayerKindOp>(symbols.lookup(name));
    const StringAttr staying = own.contains(StringAttr()) ? StringAttr() : own.front();
    kindOf[{name, staying}] = FlatSymbolRefAttr::get(name);
    Operation *last = original;
    for (StringAttr element : own) {
      if (element == staying)
        continue;
      LayerKindOp copy = original.clone();
      copy.setSymName((name.getValue() + "_" + element.getValue()).str());
      symbols.insert(copy, std::next(last->getIterator())); // renames it if the name is taken
      setElement(copy, element);
      kindOf[{name, element}] = FlatSymbolRefAttr::get(copy.getSymNameAttr());
      last = copy;
    }
    if (staying)
      setElement(original, staying);
  }
  SmallVector<Attribute> all;
  for (auto [kind, element] : llvm::zip(kinds, elements))
    all.push_back(kindOf.lookup({kind.getAttr(), element}));
  layers.setKindsAttr(ArrayAttr::get(layers.getContext(), all));
}

namespace {
struct ChooseKv : ingot::impl::ChooseKvPassBase<ChooseKv> {
  using ChooseKvPassBase::ChooseKvPassBase;

  void runOnOperation() override {
    SmallVector<LayersOp> all;
    getOperation().walk([&](LayersOp op) { all.push_back(op); });
    if (all.size() != 1) {
      getOperation().emitError("expects one lm.layers");
      return signalPassFailure();
    }
    LayersOp op = all.front();
    Elements elements(op.getKinds().size());
    for (const std::string &rule : layers)
      if (failed(take(rule, elements)))
        return signalPassFailure();
    SymbolTable symbols(SymbolTable::getNearestSymbolTable(op));
    for (auto [element, states] : llvm::zip(elements, op.getStates())) {
      bool any = false;
      for (auto ref : cast<ArrayAttr>(states).getAsRange<FlatSymbolRefAttr>()) {
        auto state = cast<StateOp>(symbols.lookup(ref.getAttr()));
        const bool paged = isa<PagedAttr>(state.getLayout());
        any |= paged;
        if (paged && element)
          state.setElementAttr(element);
      }
      if (!any) // a layer without a cache
        element = StringAttr();
    }
    splitKinds(symbols, op, elements);
  }

private:
  LogicalResult take(StringRef rule, Elements &elements) {
    StringRef rest = rule;
    uint64_t first, last;
    if (rest.consumeInteger(10, first) || !rest.consume_front("-") ||
        rest.consumeInteger(10, last) || !rest.consume_front(":") || first > last ||
        last >= elements.size() || !kvFormatNamed(std::string_view(rest)))
      return getOperation().emitError("expects FIRST-LAST:FORMAT of ")
             << elements.size() << " layers, got '" << rule << "'";
    for (StringAttr &element :
         llvm::MutableArrayRef(elements).slice(size_t(first), size_t(last - first + 1))) {
      if (element)
        return getOperation().emitError("names a layer twice: '") << rule << "'";
      element = StringAttr::get(&getContext(), rest);
    }
    return success();
  }
};
} // namespace
