//===- KernelText.cpp - See KernelText.h ----------------------------------===//
#include "codegen/cuda/KernelText.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::cuda;
using kernel::RowKind;
using kernel::RowsType;

void KernelText::include(StringRef header) {
  if (llvm::is_contained(included, header))
    return;
  included.push_back(header.str());
  includes += ("#include \"" + header + "\"\n").str();
}

void KernelText::write(StringRef text) {
  if (text.starts_with("}"))
    --depth;
  if (!text.empty())
    body.append(2 * depth, ' ');
  body += (text + "\n").str();
  if (text.ends_with("{"))
    ++depth;
}

void KernelText::name(Value operand, StringRef name, bool written) {
  names.try_emplace(operand, name.str());
  if (written)
    writtenOperands.insert(operand);
}
StringRef KernelText::nameOf(Value operand) const {
  auto it = names.find(operand);
  assert(it != names.end() && "operand was not named");
  return it->second;
}

CudaVariant &KernelText::open(StringRef suffix, uint32_t threads, bool allRegisters) {
  CudaVariant variant;
  variant.symbol = (kernel.getName() + suffix).str();
  variant.threads = threads;
  std::string parameters;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto it = names.find(argument);
    bool written = writtenOperands.contains(argument);
    parameters += llvm::formatv(
        "{0}{1} *{2}, ", written ? "" : "const ", elementText(argument.getType()),
        it == names.end() ? "unused" + std::to_string(argument.getArgNumber()) : it->second);
  }
  if (workspaceBytes(kernel))
    parameters += "u8 *workspace, ";
  write("");
  line("KERNEL void __launch_bounds__({0}) {1}({2}const BatchView *batch) {{",
       allRegisters ? std::to_string(threads) + ", 1" : std::to_string(threads), variant.symbol,
       parameters);
  line("pdl_launch();");
  program.variants.push_back(variant);
  return program.variants.back();
}

void KernelText::close() {
  write("}");
  line("EXPORT_KERNEL({0})", program.variants.back().symbol);
}

CudaProgram KernelText::finish() {
  std::string head = "// " + program.name + ": " + kernel::family(kernel).str() + "\n";
  program.source = head + includes + body;
  return std::move(program);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

std::string KernelText::expression(Operation *op, ArrayRef<std::string> v) {
  auto call = [&](const char *function) {
    std::string text = function;
    for (auto [i, operand] : llvm::enumerate(v))
      text += (i ? ", " : "(") + operand;
    return text + ")";
  };
  auto infix = [&](const char *sign) { return v[0] + sign + v[1]; };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](arith::AddFOp) { return infix(" + "); })
      .Case([&](arith::SubFOp) { return infix(" - "); })
      .Case([&](arith::MulFOp) { return infix(" * "); })
      .Case([&](arith::DivFOp) { return call("div_f32"); })
      .Case([&](arith::NegFOp) { return "-" + v[0]; })
      .Case([&](arith::MaximumFOp) { return call("max_f32"); })
      .Case([&](arith::MinimumFOp) { return call("min_f32"); })
      .Case([&](math::FmaOp) { return call("fma_f32"); })
      .Case([&](math::ExpOp) { return call("exp_f32"); })
      .Case([&](math::TanhOp) { return call("tanh_f32"); })
      .Case([&](math::ErfOp) { return call("erf_f32"); })
      .Case([&](math::SqrtOp) { return call("sqrt_f32"); })
      .Case([&](math::RsqrtOp) { return call("rsqrt_f32"); })
      .Case([&](math::AbsFOp) { return call("abs_f32"); })
      .Default([](Operation *) { return std::string(); });
}

FailureOr<KernelText::Texts>
KernelText::region(Region &region, ArrayRef<std::string> arguments,
                   llvm::function_ref<std::string(Operation *)> special) {
  llvm::DenseMap<Value, std::string> texts;
  Block &block = region.front();
  for (auto [argument, text] : llvm::zip(block.getArguments(), arguments))
    texts[argument] = text;
  int count = 0;
  for (Operation &op : block.without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      texts[constant.getResult()] =
          floatText(cast<FloatAttr>(constant.getValue()).getValueAsDouble());
      continue;
    }
    if (std::string known = special ? special(&op) : std::string(); !known.empty()) {
      texts[op.getResult(0)] = known;
      continue;
    }
    Texts operands;
    for (Value operand : op.getOperands())
      operands.push_back(texts.lookup(operand));
    std::string text = expression(&op, operands);
    if (text.empty())
      return op.emitOpError("has no CUDA rendering in the region of this op");
    std::string name = "v" + std::to_string(count++);
    line("const float {0} = {1};", name, text);
    texts[op.getResult(0)] = name;
  }
  Texts yielded;
  for (Value v : block.getTerminator()->getOperands())
    yielded.push_back(texts.lookup(v));
  return yielded;
}

//===----------------------------------------------------------------------===//
// Names of things
//===----------------------------------------------------------------------===//

std::string ingot::cuda::floatText(double value) {
  if (std::isinf(value) || std::isnan(value))
    return llvm::formatv("as_f32({0:x}u)", llvm::bit_cast<uint32_t>(float(value)));
  char text[64];
  std::snprintf(text, sizeof text, "%.9g", value);
  if (float(std::strtod(text, nullptr)) != float(value))
    std::snprintf(text, sizeof text, "%a", value);
  std::string number = text;
  if (number.find_first_of(".ep") == std::string::npos)
    number += ".0";
  return number[0] == '-' ? "(" + number + "f)" : number + "f";
}

StringRef ingot::cuda::formatText(WeightFormat format) {
  switch (format) {
  case WeightFormat::F32:
    return "BF16"; // packed so
  case WeightFormat::F16:
    return "F16";
  case WeightFormat::BF16:
    return "BF16";
  case WeightFormat::Q4_0:
    return "Q4_0";
  case WeightFormat::Q4_1:
    return "Q4_1";
  case WeightFormat::Q5_0:
    return "Q5_0";
  case WeightFormat::Q5_1:
    return "Q5_1";
  case WeightFormat::Q8_0:
    return "Q8_0";
  case WeightFormat::Q4_K:
    return "Q4_K";
  case WeightFormat::Q5_K:
    return "Q5_K";
  case WeightFormat::Q6_K:
    return "Q6_K";
  case WeightFormat::Int8:
    return "Int8";
  case WeightFormat::Int4G32:
    return "Int4G32";
  case WeightFormat::Int4G64:
    return "Int4G64";
  case WeightFormat::Int4G128:
    return "Int4G128";
  }
  llvm_unreachable("all formats are covered");
}

StringRef ingot::cuda::elementText(Type type) {
  if (auto rows = dyn_cast<RowsType>(type))
    return rows.getKind() == RowKind::F32    ? "float"
           : rows.getKind() == RowKind::BF16 ? "u16"
                                             : "u8";
  if (auto weight = dyn_cast<lm::WeightType>(type))
    return weight.isVector() ? "float" : "u8";
  return "u8";
}

int64_t ingot::cuda::rowStride(RowsType rows) {
  return rows.rowBytes() / (rows.getKind() == RowKind::F32 ? 4 : 2);
}
