//===- KernelDialect.cpp - Attributes and types of the kernel dialect -----===//
#include "dialects/kernel/KernelOps.h"
#include "runtime/abi/KernelAbi.h"
#include "runtime/abi/Routes.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;

#include "dialects/kernel/KernelDialect.cpp.inc"
#include "dialects/kernel/KernelEnums.cpp.inc"
#include "dialects/kernel/KernelInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/kernel/KernelAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/kernel/KernelTypes.cpp.inc"

FailureOr<KvFormat> FieldParser<KvFormat>::parse(AsmParser &parser) {
  SMLoc at = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  if (std::optional<KvFormat> format = kvFormatNamed(name))
    return *format;
  return parser.emitError(at, "expects one of ")
         << kvFormatNames(isOfAny, "or") << ", got " << name;
}
llvm::raw_ostream &ingot::operator<<(llvm::raw_ostream &out, KvFormat format) {
  return out << kvFormat(format).name;
}

namespace {
/// Keeps constants that folding creates inside the regions of ops. Canonicalize would otherwise hoist them into
/// the kernel's body, which may hold only launches, producers and consumers.
struct KernelFoldInterface : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const override {
    return !isa<FuncOp>(region->getParentOp());
  }
};
} // namespace

void KernelDialect::initialize() {
  addInterfaces<KernelFoldInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/kernel/KernelAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/kernel/KernelTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/kernel/ops/Structure.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/kernel/ops/Dispatch.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/kernel/ops/Region.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/kernel/ops/Matmul.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/kernel/ops/Rows.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/kernel/ops/Fused.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/kernel/ops/Rope.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/kernel/ops/Attention.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/kernel/ops/CausalConv.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/kernel/ops/Custom.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/kernel/ops/Experts.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/kernel/ops/Ids.cpp.inc"
      >();
}

int64_t ActivationType::rowBytes() const {
  switch (getKind()) {
  case RowKind::F32:
    return f32RowBytes(getN());
  case RowKind::Q8:
    return q8Row(getN()).bytes;
  case RowKind::Q8x2:
    return q8x2RowBytes(getN());
  case RowKind::BF16:
    return gpuRowBytes(getN());
  case RowKind::Key:
    return 8 * getN();
  case RowKind::FP8:
    return fp8RowBytes(getN());
  case RowKind::I32:
    return 4 * getN();
  case RowKind::Bytes:
    return getN();
  }
  llvm_unreachable("all row kinds are covered");
}
ActivationType kernel::activationTypeOf(Value value) {
  if (auto fusedValue = dyn_cast<FusedType>(value.getType()))
    return ActivationType::get(fusedValue.getContext(), fusedValue.getN(), fusedValue.getKind());
  return cast<ActivationType>(value.getType());
}
int64_t RoutesType::bytesPerToken() const { return routesBytes(getUsed()); }
int64_t KvPoolType::pageBytes() const {
  return 2 * getKvHeads() * kPageTokens * info().vectorBytes(getHeadDim());
}

bool kernel::canRotate(KvPoolType kv, ActivationType table, lm::RopeStyle style) {
  return style == lm::RopeStyle::Half
             ? table.getN() == kv.getHeadDim() && kv.getHeadDim() % (2 * kFragmentRows) == 0
             : table.getN() <= kv.getHeadDim() && kv.getHeadDim() % 2 == 0;
}

PanelLayout kernel::panelLayoutOf(lm::WeightType weight) {
  return panelLayout(weight.getFormat(), weight.rows(), weight.columns(), weight.matrices());
}
FragmentLayout kernel::fragmentLayoutOf(lm::WeightType weight) {
  return fragmentLayout(weight.getFormat(), weight.rows(), weight.columns(), weight.matrices());
}
int64_t kernel::packedBytes(lm::WeightType weight) {
  if (weight.isVector())
    return roundUp(weight.rows(), kPanelRows) * 4;
  switch (weight.getLayout()) {
  case lm::WeightLayout::Panel32:
    return panelLayoutOf(weight).bytes();
  case lm::WeightLayout::Fragment16:
    return fragmentLayoutOf(weight).bytes();
  case lm::WeightLayout::Open:
    break;
  }
  llvm_unreachable("kernel-choose-layouts has run");
}
int64_t kernel::packedRowBytes(lm::WeightType weight) {
  const bool panels = weight.getLayout() == lm::WeightLayout::Panel32;
  return packedBytes(weight) /
         (weight.matrices() * roundUp(weight.rows(), panels ? kPanelRows : kFragmentRows));
}

WorkItems kernel::unitsOf(Extent extent) {
  return {extent == Extent::Rows ? WorkItems::Rows : WorkItems::Tokens, 1, false};
}

std::optional<RowKind> kernel::encodingOf(Type rows) {
  Attribute encoding = cast<RankedTensorType>(rows).getEncoding();
  if (!encoding)
    return RowKind::F32;
  auto name = dyn_cast<StringAttr>(encoding);
  return name ? symbolizeRowKind(name.getValue()) : std::nullopt;
}
ActivationType kernel::rowsOf(Type rows) {
  return ActivationType::get(rows.getContext(), cast<RankedTensorType>(rows).getShape().back(),
                             *encodingOf(rows));
}
