//===- Listing.cpp - See Listing.h ----------------------------------------===//
#include "compiler/driver/emit/Listing.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/plan/ops/Section.h"
#include "passes/lowering/Origin.h"
#include "runtime/json/JsonText.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

static void addKernel(runtime::JsonText &json, kernel::FuncOp kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().useLocalScope());
  json.open('{').key("name").value(kernel.getSymName()).key("ir").value(text);
  json.key("effects").open('[');
  for (kernel::OperandEffect effect : kernel.operandEffects())
    json.value(std::string(effect.reads ? "r" : "") + (effect.writes ? "w" : ""));
  json.close().close();
}

void Listing::add(Region &program, ArrayRef<kernel::FuncOp> kernels) {
  runtime::JsonText json;
  json.open('{').key("kernels").open('[');
  for (kernel::FuncOp kernel : kernels)
    addKernel(json, kernel);
  json.close();
  llvm::MapVector<StringRef, int> numbers; // specialisations have copies of launches
  json.key("launches").open('[');
  for (plan::SectionOp section : program.getOps<plan::SectionOp>()) {
    json.open('[');
    for (const plan::Case &one : section.cases()) {
      json.open('[');
      for (plan::LaunchOp launch : one.launches()) {
        StringRef ops = originOf(launch);
        json.value(ops.empty() ? -1 : numbers.try_emplace(ops, numbers.size()).first->second);
      }
      json.close();
    }
    json.close();
  }
  json.close().key("ops").open('[');
  for (const auto &[ops, number] : numbers)
    json.value(ops);
  json.close().close();
  programs += (programs.empty() ? "" : ",") + json.text();
}

SegmentSource Listing::segment() const {
  return segmentOf(fb::SegmentKind::Ir, "{\"programs\":[" + programs + "]}");
}
