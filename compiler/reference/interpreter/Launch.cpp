//===- Launch.cpp - See Launch.h ------------------------------------------===//
#include "compiler/reference/interpreter/Launch.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/lm/ops/Weights.h"

#include "llvm/Support/raw_ostream.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;
using kernel::ActivationType;
using kernel::RowKind;

bool Launch::declares(Value operand, bool reads, bool writes) {
  const int64_t number = numberOf(operand);
  const kernel::OperandEffect &declared = effects[size_t(number)];
  if ((!reads || declared.reads) && (!writes || declared.writes))
    return true;
  std::string why;
  llvm::raw_string_ostream(why) << "operand " << number << ", " << op.getArgs()[number] << ": "
                                << anchor->getName() << " declares "
                                << (declared.reads    ? "only reads"
                                    : declared.writes ? "only writes"
                                                      : "no access")
                                << ", so barriers and packing ignore the access";
  interpreter.findings.add("E0880",
                           interpreter.timeline.current() +
                               (writes && !declared.writes ? " writes" : " reads") +
                               " an operand without declaring it",
                           why);
  return false;
}

static int64_t bufferOf(InterpreterState &interpreter, Attribute passed) {
  return interpreter.memory->find(cast<plan::BufferRefAttr>(passed).getSymbol().getValue());
}

std::byte *Launch::bytes(Value operand, int64_t row, Items items, bool reads, bool writes) {
  declares(operand, reads, writes);
  const int64_t buffer = bufferOf(interpreter, op.getArgs()[numberOf(operand)]),
                size = cast<ActivationType>(operand.getType()).rowBytes();
  // If a work item both reads and writes, the read is recorded first. No other access may come in between.
  std::byte *at = nullptr;
  if (reads)
    at = interpreter.memory->read(buffer, row * size, size, items);
  if (writes)
    at = interpreter.memory->write(buffer, row * size, size, items);
  return at;
}

std::byte *Launch::part(Value routes, int64_t at, int64_t size, bool reads, bool writes) {
  declares(routes, reads, writes);
  const int64_t buffer = bufferOf(interpreter, op.getArgs()[numberOf(routes)]);
  // The parts of single tokens are smaller than the units in which memory accesses are observed, so all writers count
  // as one work item.
  return writes ? interpreter.memory->write(buffer, at, size, Items::one(0))
                : interpreter.memory->read(buffer, at, size,
                                           isAlone() ? Items::one(0) : Items::every());
}

std::vector<float> Launch::read(Value operand, int64_t row, Items items) {
  if (auto fusedValue = fusedValues.find(operand); fusedValue != fusedValues.end()) {
    std::span<const float> values = fusedValue->second.values.row(row);
    return {values.begin(), values.end()};
  }
  auto type = cast<ActivationType>(operand.getType());
  const std::byte *at = bytes(operand, row, items, /*reads=*/true, /*writes=*/false);
  if (auto exact = interpreter.exact.find(at); type.getKind() != RowKind::F32 &&
                                               exact != interpreter.exact.end() &&
                                               int64_t(exact->second.size()) == type.getN())
    return exact->second;
  std::vector<float> values(static_cast<size_t>(type.getN()));
  decodeRow(type, at, values);
  return values;
}

void Launch::write(Value operand, int64_t row, std::span<const float> values, Items items) {
  auto type = cast<ActivationType>(operand.getType());
  std::byte *at = bytes(operand, row, items, /*reads=*/false, /*writes=*/true);
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) {
      std::string why;
      llvm::raw_string_ostream(why) << "value " << i << " of row " << row << " of "
                                    << op.getArgs()[numberOf(operand)] << " is " << values[i];
      interpreter.findings.add("E0457",
                               interpreter.timeline.current() + " computes NaN or infinity", why);
      return;
    }
  encodeRow(type, values, at);
  uint64_t &hash = interpreter.trace.back().numbers;
  for (float value : values)
    hash = (hash ^ std::bit_cast<uint32_t>(value)) * 0x100000001b3u;
  if (interpreter.options.keepsRows && !isa<kernel::RopeTableOp>(anchor))
    interpreter.trace.back().rows[numberOf(operand)].emplace_back(values.begin(), values.end());
  if (!interpreter.options.rounds && type.getKind() != RowKind::F32)
    interpreter.exact[at].assign(values.begin(), values.end());
}

void Launch::hand(Value fusedValue, Matrix values, int64_t firstPanel) {
  const ActivationType type = kernel::activationTypeOf(fusedValue);
  if (interpreter.options.rounds &&
      type.getKind() != RowKind::F32) { // round to the values that rows in memory would have
    std::vector<std::byte> row(size_t(type.rowBytes()));
    for (int64_t unit = 0; unit < values.rows; ++unit) {
      encodeRow(type, values.row(unit), row.data());
      decodeRow(type, row.data(), values.row(unit));
    }
  }
  fusedValues[fusedValue] = {std::move(values), firstPanel};
}

Items Launch::itemOf(Operation *one, int64_t unit) {
  return one == anchor.getOperation() ? Items::one(unit) : Items::one(0);
}
Items Launch::consumersOf(Operation *one, int64_t unit) {
  if (one == anchor.getOperation())
    return Items::one(unit);
  return isAlone() ? Items::one(0) : Items::every();
}
bool Launch::isAlone() {
  const kernel::WorkItems items = anchor.workItems();
  return items.base == kernel::WorkItems::Constant && items.factor == 1;
}
Items Launch::panelsOf(Value rows, int64_t firstPanel) {
  auto type = dyn_cast<ActivationType>(rows.getType());
  if (isAlone() || !type || type.getKind() != RowKind::F32)
    return isAlone() ? Items::one(0) : Items::every();
  return {firstPanel, kPanelRows * 4};
}

void Launch::touchWorkspace(Value operand) {
  declares(operand, /*reads=*/true, /*writes=*/true);
  const int64_t buffer = bufferOf(interpreter, op.getArgs()[numberOf(operand)]),
                size = cast<kernel::WorkspaceType>(operand.getType()).getBytes();
  const std::byte *at = interpreter.memory->read(buffer, 0, size, Items::one(0));
  interpreter.memory->write(buffer, 0, size, Items::one(0));
  // The kernel defines the contents of a workspace, but the plan ensures that it starts with zeros.
  if (std::any_of(at, at + size, [](std::byte byte) { return byte != std::byte{0}; }))
    interpreter.findings.add(
        "E0888", interpreter.timeline.current() + " finds a workspace that is not zero",
        "@" + interpreter.memory->buffer(buffer).name +
            " is zero before the first step only if it is persistent and used by nothing else");
}

lm::WeightOp Launch::weight(Value operand) const {
  Attribute passed = op.getArgs()[numberOf(operand)];
  if (auto layer = dyn_cast<plan::LayerWeightRefAttr>(passed))
    return cast<lm::WeightOp>(interpreter.weights.at(
        cast<FlatSymbolRefAttr>((*planStep.getWeights())[layer.getIndex()]).getValue().str()));
  return cast<lm::WeightOp>(
      interpreter.weights.at(cast<plan::WeightRefAttr>(passed).getSymbol().getValue().str()));
}

Result<std::vector<float>> Launch::vector(Value operand) const {
  lm::WeightOp own = weight(operand);
  if (auto values = own.getValues())
    return std::vector<float>(values->begin(), values->end());
  std::vector<float> numbers(static_cast<size_t>(own.getType().rows()));
  if (auto read = interpreter.provider.row(own, 0, numbers); !read)
    return std::move(read.error());
  return numbers;
}

Result<Matrix> Launch::multiply(const Matrix &x, Value operand, int64_t matrix) const {
  return interpreter.provider.multiply(weight(operand), x, matrix);
}

int64_t Launch::state(Value operand, bool reads, bool writes) {
  declares(operand, reads, writes);
  const int64_t index = cast<plan::StateRefAttr>(op.getArgs()[numberOf(operand)]).getIndex();
  return interpreter.options.states.at(
      cast<FlatSymbolRefAttr>((*planStep.getStates())[index]).getValue().str());
}

Result<std::vector<float>> Launch::element(Value operand, int64_t row, Items items,
                                           int64_t expert) {
  if (auto type = dyn_cast<lm::WeightType>(operand.getType()); type && type.isStack()) {
    std::vector<float> numbers(size_t(type.rows()));
    for (size_t n = 0; n < numbers.size(); ++n)
      if (auto read = interpreter.provider.row(weight(operand), expert * type.rows() + int64_t(n),
                                               std::span(numbers).subspan(n, 1));
          !read)
        return std::move(read.error());
    return numbers;
  }
  if (isa<lm::WeightType>(operand.getType()))
    return vector(operand);
  return read(operand, row, items);
}
