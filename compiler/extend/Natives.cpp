//===- Natives.cpp - See Natives.h ----------------------------------------===//
#include "compiler/extend/Natives.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;

static constexpr llvm::StringLiteral kSignatures[] = {"HasOneUse(value)",
                                                      "Product(attribute, attribute) -> attribute"};

ArrayRef<llvm::StringLiteral> extend::nativeSignatures() { return kSignatures; }

/// "attribute, value" of !pdl.attribute, !pdl.value.
static void printKinds(TypeRange types, llvm::raw_ostream &out) {
  llvm::interleaveComma(types, out, [&](Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    StringRef kind(text);
    kind.consume_front("!pdl.");
    out << kind;
  });
}

std::string extend::signatureOf(Operation *call) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto name = call->getAttrOfType<StringAttr>("name");
  out << (name ? name.getValue() : "") << "(";
  printKinds(call->getOperandTypes(), out);
  out << ")";
  if (call->getNumResults()) {
    out << " -> ";
    printKinds(call->getResultTypes(), out);
  }
  return text;
}

static LogicalResult hasOneUse(PatternRewriter &, Value value) {
  return success(value.hasOneUse());
}

/// Of two floats of one type; else nothing, which the verifier of the new op refuses.
static Attribute product(PatternRewriter &, Attribute a, Attribute b) {
  auto x = dyn_cast<FloatAttr>(a), y = dyn_cast<FloatAttr>(b);
  if (!x || !y || x.getType() != y.getType())
    return {};
  llvm::APFloat value = x.getValue();
  value.multiply(y.getValue(), llvm::APFloat::rmNearestTiesToEven);
  return FloatAttr::get(x.getType(), value);
}

void extend::registerNatives(PDLPatternModule &patterns) {
  patterns.registerConstraintFunction("HasOneUse", hasOneUse);
  patterns.registerRewriteFunction("Product", product);
}
