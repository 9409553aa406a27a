//===- PatternFile.cpp - See PatternFile.h --------------------------------===//
#include "compiler/extend/PatternFile.h"
#include "compiler/extend/PdllTool.h"
#include "passes/patterns/Natives.h"
#include "passes/patterns/Pdl.h"

#include "mlir/Conversion/PDLToPDLInterp/PDLToPDLInterp.h"
#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDL/IR/PDLOps.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace ingot;
using patterns::placeOf;
using patterns::resultsOf;

static Result<std::string> readText(const std::string &path) {
  llvm::StringRef name(path);
  if (!name.ends_with(".pdll") && !name.ends_with(".mlir"))
    return Error{ExitCode::File, "E0421", "cannot read the patterns " + path,
                 "its name must end in .pdll or .mlir",
                 "--patterns expects a file of PDLL or PDL IR (docs/extending.md)"};
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return Error{ExitCode::File, "E0421", "cannot read the patterns " + path,
                 buffer.getError().message(), "--patterns expects a file of PDLL or PDL IR"};
  if (name.ends_with(".pdll"))
    return extend::translatePdll(path);
  return (*buffer)->getBuffer().str();
}

static Error notPatterns(const std::string &path, std::string why) {
  return {ExitCode::File, "E0424", path + " has no patterns that can be run", std::move(why),
          "see passes/patterns for examples (docs/extending.md)"};
}

static Result<OwningOpRef<ModuleOp>> parse(MLIRContext &context, const std::string &path,
                                           llvm::StringRef text) {
  std::string why;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error || !why.empty())
      return;
    why = placeOf(diagnostic.getLocation()) + ": " + diagnostic.str();
  });
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context), path);
  if (!module)
    return notPatterns(path, llvm::StringRef(why).split('\n').first.str());
  return module;
}

// Checks that the PDL verifier does not make.

/// Lists the attributes of an op, for an error message: "lm.scale has factor".
static std::string attributesOf(RegisteredOperationName info) {
  std::string text = info.getStringRef().str() + " has ";
  if (info.getAttributeNames().empty())
    return text + "no attributes";
  llvm::raw_string_ostream out(text);
  llvm::interleaveComma(info.getAttributeNames(), out,
                        [&](StringAttr name) { out << name.getValue(); });
  return text;
}

/// Returns whether a range lists its values in the pattern: (x, w).
static bool isListed(Value range) {
  auto list = range.getDefiningOp<pdl::RangeOp>();
  return list && !list.getArguments().empty() &&
         llvm::all_of(list.getArguments().getTypes(), llvm::IsaPred<pdl::ValueType>);
}

static std::optional<Error> mistakeIn(pdl::OperationOp op, const std::string &path) {
  std::optional<llvm::StringRef> name = op.getOpName();
  if (!name)
    return std::nullopt;
  auto info = RegisteredOperationName::lookup(*name, op.getContext());
  if (!info)
    return Error{ExitCode::File, "E0426",
                 "a pattern uses the op '" + name->str() + "', which does not exist",
                 placeOf(op.getLoc()), "the ops are those of dialects/SPEC.md: lm.add, lm.scale …"};
  for (Attribute attribute : op.getAttributeValueNames())
    if (auto given = cast<StringAttr>(attribute);
        !given.getValue().contains('.') && !llvm::is_contained(info->getAttributeNames(), given))
      return Error{ExitCode::File, "E0429",
                   "a pattern uses the attribute '" + given.str() + "' of " + name->str() +
                       ", which does not exist",
                   placeOf(op.getLoc()), attributesOf(*info)};
  // The type of a created op may have to be inferred. MLIR then takes it from an operand and does not check that
  // there is one.
  if (!isa<pdl::RewriteOp>(op->getParentOp()) || !op.getTypeValues().empty() ||
      !info->hasInterface<InferTypeOpInterface>())
    return std::nullopt;
  if (op.getOperandValues().empty())
    return notPatterns(path,
                       placeOf(op.getLoc()) + ": " + name->str() + " is created without operands");
  for (Value operand : op.getOperandValues())
    if (!isa<pdl::ValueType>(operand.getType()) && !isListed(operand))
      return notPatterns(path, placeOf(op.getLoc()) + ": " + name->str() +
                                   " is created from a range of values, which may be empty");
  return std::nullopt;
}

/// Returns the number of results that an op certainly has. For an op without a name, or with a variable
/// number of results, counts the types that the pattern lists.
static uint64_t knownResults(pdl::OperationOp op) {
  if (auto results = resultsOf(op))
    return *results;
  uint64_t known = 0;
  for (Value type : op.getTypeValues())
    known += isa<pdl::TypeType>(type.getType());
  return known;
}

/// Returns an error if a rewrite uses a result that the op does not have. MLIR would pass a null pointer.
static std::optional<Error> mistakeInResult(Operation *result, pdl::OperationOp of, uint64_t index,
                                            const std::string &path) {
  if (!isa<pdl::RewriteOp>(result->getParentOp()) || index < knownResults(of))
    return std::nullopt;
  return notPatterns(path, placeOf(result->getLoc()) + ": " +
                               of.getOpName().value_or("an op").str() +
                               " is not known to have a result " + std::to_string(index));
}

/// Returns the names of all native functions ("Fuse, Missed, …"), or the signature of the one called `name`:
/// "Sum(attribute, attribute) -> attribute".
static std::string nativesThere(llvm::StringRef name) {
  std::string all, same;
  for (const patterns::Native &native : patterns::natives()) {
    if (native.name() == name)
      same = native.signature.str() + (native.isConstraint ? " (for matches)" : " (for rewrites)");
    if (!llvm::StringRef(all).ends_with(native.name()))
      all += (all.empty() ? "" : ", ") + native.name().str();
  }
  return same.empty() ? "available: " + all : "available: " + same;
}

static std::optional<Error> mistakeInCall(Operation *op) {
  std::string called = patterns::signatureOf(op);
  const bool asks = isa<pdl::ApplyNativeConstraintOp>(op);
  if (!isa<pdl::RewriteOp>(op) &&
      llvm::any_of(patterns::natives(), [&](const patterns::Native &native) {
        return native.signature == called && native.isConstraint == asks;
      }))
    return std::nullopt;
  return Error{ExitCode::File, "E0425", "a pattern calls " + called + ", which does not exist",
               placeOf(op->getLoc()),
               nativesThere(llvm::StringRef(called).split('(').first) +
                   " (passes/patterns/Natives.pdll); C++ in a .pdll file has no effect"};
}

/// Returns an error if a call of EitherOrder cannot be expanded, or if the pattern has so many calls that it would be
/// expanded into too many copies.
static std::optional<Error> mistakeInOrder(pdl::ApplyNativeConstraintOp either,
                                           const std::string &path) {
  if (!patterns::exchangeable(either))
    return notPatterns(path, placeOf(either.getLoc()) +
                                 ": EitherOrder expects a commutative op with two operands");
  auto calls = either->getParentOp()->getRegion(0).getOps<pdl::ApplyNativeConstraintOp>();
  if (llvm::count_if(calls, [](auto call) { return call.getName() == "EitherOrder"; }) > 4)
    return notPatterns(path, placeOf(either.getLoc()) +
                                 ": a pattern has at most four calls of EitherOrder");
  return std::nullopt;
}

static std::optional<Error> mistakeIn(Operation *op, const std::string &path) {
  if (auto operation = dyn_cast<pdl::OperationOp>(op))
    return mistakeIn(operation, path);
  if (auto result = dyn_cast<pdl::ResultOp>(op))
    return mistakeInResult(op, result.getParent().getDefiningOp<pdl::OperationOp>(),
                           result.getIndex(), path);
  if (auto group = dyn_cast<pdl::ResultsOp>(op); group && group.getIndex())
    return mistakeInResult(op, group.getParent().getDefiningOp<pdl::OperationOp>(),
                           *group.getIndex(), path);
  auto rewrite = dyn_cast<pdl::RewriteOp>(op);
  if (isa<pdl::ApplyNativeConstraintOp, pdl::ApplyNativeRewriteOp>(op) ||
      (rewrite && rewrite.getName()))
    if (auto mistake = mistakeInCall(op))
      return mistake;
  if (auto call = dyn_cast<pdl::ApplyNativeConstraintOp>(op);
      call && call.getName() == "EitherOrder")
    return mistakeInOrder(call, path);
  return std::nullopt;
}

static std::optional<Error> mistakeIn(ModuleOp module, const std::string &path) {
  std::optional<Error> mistake;
  for (Operation &op : *module.getBody())
    if (!isa<pdl::PatternOp>(op))
      return notPatterns(path, placeOf(op.getLoc()) + ": expected pdl.pattern, found " +
                                   op.getName().getStringRef().str());
  if (module.getBody()->empty())
    return notPatterns(path, "the file has no patterns");
  module.walk([&](Operation *op) {
    mistake = mistakeIn(op, path);
    return mistake ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (mistake)
    return mistake;
  // Try the conversion first, because freezing the set ends the process if it fails.
  PassManager trial(module.getContext(), ModuleOp::getOperationName());
  trial.addPass(createConvertPDLToPDLInterpPass());
  OwningOpRef<ModuleOp> copy(module.clone());
  if (failed(trial.run(*copy)))
    return notPatterns(path, "MLIR cannot compile them to a matcher");
  return std::nullopt;
}

/// Returns whether the pattern only explains a missed match.
static bool onlyRemarks(pdl::PatternOp pattern) {
  bool remarks = false, rewrites = false;
  pattern.getRewriter()->walk([&](Operation *op) {
    if (auto call = dyn_cast<pdl::ApplyNativeRewriteOp>(op); call && call.getName() == "Missed")
      remarks = true;
    else if (!isa<pdl::RewriteOp, pdl::AttributeOp>(op))
      rewrites = true;
  });
  return remarks && !rewrites;
}

Result<extend::Patterns> extend::readPatterns(MLIRContext &context, const std::string &path) {
  context.loadDialect<pdl::PDLDialect, pdl_interp::PDLInterpDialect>();
  auto text = readText(path);
  if (!text)
    return text.error();
  auto module = parse(context, path, *text);
  if (!module)
    return module.error();
  patterns::nameResults(**module);
  if (auto mistake = mistakeIn(**module, path))
    return *mistake;
  Patterns file;
  for (pdl::PatternOp pattern : (*module)->getOps<pdl::PatternOp>())
    if (!onlyRemarks(pattern))
      file.names.push_back(patterns::nameOf(pattern));
  file.module = std::make_shared<OwningOpRef<ModuleOp>>(std::move(*module));
  return file;
}
