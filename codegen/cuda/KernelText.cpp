//===- KernelText.cpp - See KernelText.h ----------------------------------===//
#include "codegen/cuda/KernelText.h"
#include "codegen/RegionWalker.h"
#include "dialects/kernel/ops/Structure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <cassert>
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;
using kernel::ActivationType;
using kernel::RowKind;

KernelText::KernelText(kernel::FuncOp kernel)
    : anchor(kernel.launch()), least(kernel.leastCount()), most(kernel.mostCount()) {
  program.name = kernel.getName().str();
}

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
  variant.symbol = (program.name + suffix).str();
  variant.threads = threads;
  std::string parameters;
  for (BlockArgument argument : anchor->getBlock()->getArguments()) {
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
                                  uint64_t(cast<ActivationType>(operand.getType()).rowBytes())});
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
  assert(!program.variants.empty() && "no variant is open");
  write("}");
  line("EXPORT_KERNEL({0})", program.variants.back().symbol);
}

std::string KernelText::format(WeightFormat id) {
  if (numericFormat(id).grid && !llvm::is_contained(grids, id)) {
    grids.push_back(id);
    include("formats_grid.cuh");
    prelude(gridText(id));
  }
  return formatText(id);
}

CudaProgram KernelText::finish() {
  std::string head = "// " + program.name + ": " + anchor.family().str() + "\n";
  program.source = head + includes + definitions + body;
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
  auto infix = [&](const char *sign) {
    assert(v.size() == 2 && "an infix operator has two operands");
    return v[0] + sign + v[1];
  };
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
// Names of numbers, formats and types
//===----------------------------------------------------------------------===//

std::string ingot::codegen::cuda::floatText(double value) {
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

/// Formats that have names in formats.cuh, which make the generated text readable. For any other format
/// the text spells out its row of NumericFormat.cpp.
static constexpr std::pair<WeightFormat, StringRef> kNamed[] = {
    {WeightFormat::Q4_0, "Q4_0"},       {WeightFormat::Q4_1, "Q4_1"},
    {WeightFormat::Q5_0, "Q5_0"},       {WeightFormat::Q5_1, "Q5_1"},
    {WeightFormat::Q8_0, "Q8_0"},       {WeightFormat::Q4_K, "Q4_K"},
    {WeightFormat::Q5_K, "Q5_K"},       {WeightFormat::Q6_K, "Q6_K"},
    {WeightFormat::Int8, "Int8"},       {WeightFormat::Int4G32, "Int4G32"},
    {WeightFormat::Int4G64, "Int4G64"}, {WeightFormat::Int4G128, "Int4G128"},
};

/// Returns the table as four words; each byte is the number of one code.
static std::string tableText(const NumericFormat &format) {
  std::string text = "Table<";
  for (int word = 0; word < 4; ++word) {
    uint32_t bytes = 0;
    for (int i = 0; i < 4; ++i)
      bytes |= uint32_t(format.table[4 * word + i]) << 8 * i;
    text += (word ? ", 0x" : "0x") + llvm::utohexstr(bytes, /*LowerCase=*/true) + "u";
  }
  return text + ">";
}

/// Returns the name of the entries of a format's grid.
static std::string entriesName(const NumericFormat &format) {
  return "Entries_" + std::string(format.name);
}

std::string ingot::codegen::cuda::formatText(WeightFormat id) {
  switch (id) {
  case WeightFormat::F32:
    return "BF16"; // F32 weights are packed as bf16
  case WeightFormat::F16:
    return "F16";
  case WeightFormat::BF16:
    return "BF16";
  case WeightFormat::Fp8Tensor:
  case WeightFormat::Fp8:
  case WeightFormat::Fp8Block128:
    return "Fp8Format"; // both formats pack their scales in the same way
  default:
    break;
  }
  const NumericFormat &format = numericFormat(id);
  for (const auto &[known, name] : kNamed)
    if (known == id)
      return std::string(name);
  if (format.grid) {
    constexpr const char *kSigns[] = {"Value", "Run", "Group"};
    return llvm::formatv("GridFormat<{0}, {1}, {2}, GridSigns::{3}, {4}>", format.group,
                         format.zeroPoint, tableText(format), kSigns[int(format.grid->signs)],
                         entriesName(format));
  }
  // Packing::Bit1 stores only bit 1 of each code, so a stored code has one bit, which has the value 2.
  const int bits = format.packing == NumericFormat::Packing::Bit1 ? 1 : format.bits;
  constexpr const char *kScales[] = {"F16", "BF16", "F32"};
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  std::string text =
      llvm::formatv("CodeFormat<{0}, {1}, {2}, {3}, {4}, Scale::{5}, {6}", bits, format.group,
                    format.zeroPoint, truth(format.hasMin), truth(format.superGroup != 0),
                    kScales[int(format.scale)], truth(format.hasZeros));
  if (!format.table)
    return text + ">";
  return text + ", " + tableText(format) + (format.floatSubScales ? ", true>" : ">");
}

std::string ingot::codegen::cuda::gridText(WeightFormat id) {
  const NumericFormat &format = numericFormat(id);
  if (!format.grid)
    return {};
  const Grid &grid = *format.grid;
  const std::string name = entriesName(format), type = grid.run == 4 ? "u16" : "u32";
  std::string text =
      llvm::formatv("DEVICE_TABLE {0} k{1}[{2}] = {{", type, name, grid.count()).str();
  const int more = grid.run == 8 && grid.signs == GridSigns::Value ? 4 : 0; // formats_grid.cuh
  for (int index = 0; index < grid.count(); ++index) {
    uint32_t nibbles = 0; // one for each value of the run
    for (int i = 0; i < grid.run; ++i)
      nibbles |= uint32_t(grid.magnitude(index, i) + more) << 4 * i;
    text += (index % 8 ? " 0x" : "\n    0x") + llvm::utohexstr(nibbles, /*LowerCase=*/true) + ",";
  }
  return text + llvm::formatv(R"(};
struct {0} {{
  static constexpr i32 bits = {1}, run = {2};
  static MEMBER u32 at(u32 index) {{ return k{0}[index]; }
};
)",
                              name, grid.indexBits, grid.run)
                    .str();
}

StringRef ingot::codegen::cuda::panelText(WeightFormat format) {
  assert(numericFormat(format).isFloat() && "codes are multiplied by rows of bf16");
  return format == WeightFormat::F32    ? "PanelF32"
         : format == WeightFormat::BF16 ? "PanelBF16"
                                        : "PanelF16";
}

StringRef ingot::codegen::cuda::elementText(Type type) {
  if (auto rows = dyn_cast<ActivationType>(type))
    return rows.getKind() == RowKind::F32    ? "float"
           : rows.getKind() == RowKind::BF16 ? "u16"
           : rows.getKind() == RowKind::Key  ? "u64"
           : rows.getKind() == RowKind::I32  ? "i32"
                                             : "u8";
  if (isa<kernel::RoutesType>(type))
    return "i32";
  if (auto weight = dyn_cast<lm::WeightType>(type))
    return weight.isVectors() ? "float" : "u8";
  return "u8";
}

int64_t ingot::codegen::cuda::rowStride(ActivationType rows) {
  int64_t bytes = rows.getKind() == RowKind::F32 ? 4 : rows.getKind() == RowKind::Key ? 8 : 2;
  return rows.rowBytes() / bytes;
}
