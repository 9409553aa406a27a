//===- KernelText.cpp - See KernelText.h ----------------------------------===//
#include "codegen/cuda/KernelText.h"
#include "codegen/RegionWalker.h"

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

CudaVariant &KernelText::open(StringRef suffix, uint32_t threads, bool allRegisters,
                              ArrayRef<Value> mapped, uint32_t leastBlocks) {
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
  parameters += "const BatchView *batch";
  for (Value operand : mapped) {
    parameters += (", const __grid_constant__ TensorMap " + nameOf(operand) + "_map").str();
    variant.tensorMaps.push_back({cast<BlockArgument>(operand).getArgNumber(), /*boxRows=*/0,
                                  uint64_t(cast<RowsType>(operand.getType()).rowBytes())});
  }
  write("");
  std::string bounds = std::to_string(threads);
  if (leastBlocks)
    bounds += llvm::formatv(", LEAST_BLOCKS({0})", leastBlocks);
  else if (allRegisters)
    bounds += ", 1";
  line("KERNEL void __launch_bounds__({0}) {1}({2}) {{", bounds, variant.symbol, parameters);
  line("pdl_launch();");
  program.variants.push_back(variant);
  return program.variants.back();
}

void KernelText::close() {
  write("}");
  line("EXPORT_KERNEL({0})", program.variants.back().symbol);
}

CudaProgram KernelText::finish() {
  std::string head = "// " + program.name + ": " + kernel.launch().family().str() + "\n";
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
  int count = 0;
  RegionWalker<std::string> walker("CUDA", [&](Operation *op, ArrayRef<std::string> operands) {
    if (std::string known = special ? special(op) : std::string(); !known.empty())
      return known;
    return define(op, operands, [&] { return "v" + std::to_string(count++); });
  });
  for (auto [argument, text] : llvm::zip(region.getArguments(), arguments))
    walker.set(argument, text);
  return walker.walk(region.front());
}

std::string KernelText::define(Operation *op, ArrayRef<std::string> operands,
                               llvm::function_ref<std::string()> nextName) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return floatText(cast<FloatAttr>(constant.getValue()).getValueAsDouble());
  std::string text = expression(op, operands);
  if (text.empty())
    return text;
  std::string name = nextName();
  line("const float {0} = {1};", name, text);
  return name;
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
  case WeightFormat::Fp8Tensor:
  case WeightFormat::Fp8:
  case WeightFormat::Fp8Block128:
    return "Fp8Format"; // scales are packed alike
  }
  llvm_unreachable("all formats are covered");
}

StringRef ingot::cuda::elementText(Type type) {
  if (auto rows = dyn_cast<RowsType>(type))
    return rows.getKind() == RowKind::F32    ? "float"
           : rows.getKind() == RowKind::BF16 ? "u16"
           : rows.getKind() == RowKind::Key  ? "u64"
           : rows.getKind() == RowKind::I32  ? "i32"
                                             : "u8";
  if (auto weight = dyn_cast<lm::WeightType>(type))
    return weight.isVector() ? "float" : "u8";
  return "u8";
}

int64_t ingot::cuda::rowStride(RowsType rows) {
  int64_t bytes = rows.getKind() == RowKind::F32 ? 4 : rows.getKind() == RowKind::Key ? 8 : 2;
  return rows.rowBytes() / bytes;
}
