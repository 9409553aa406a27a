//===- TuningRows.cpp - See TuningRows.h ----------------------------------===//
#include "codegen/cpu/schedule/TuningRows.h"
#include "dialects/kernel/ops/Matmul.h"
#include "runtime/error/Suggest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::cpu;
using kernel::RowKind;
namespace json = llvm::json;

/// The limit of tiles bounds the size of the code, that of blocks the scratch of a thread.
static constexpr int64_t kMostTile = 16, kMostBlock = 4096, kMostPrefetch = 1 << 16;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

MatmulShape ingot::cpu::shapeOf(kernel::MatmulOp op) {
  MatmulShape shape;
  RowKind kind = op.xType().getKind();
  shape.x =
      kind == RowKind::F32 && op.getFastFloat() ? "bf16" : kernel::stringifyRowKind(kind).str();
  shape.pair = op.getPair();
  for (Type weight : op.getWeights().getTypes()) {
    auto type = cast<lm::WeightType>(weight);
    shape.weights.push_back((llvm::formatv("{0} ", type.numeric().name) +
                             (type.isStack() ? llvm::formatv("{0}x", type.matrices()).str() : "") +
                             llvm::formatv("{0}x{1}", type.rows(), type.columns()).str())
                                .str());
  }
  return shape;
}

std::string MatmulShape::text() const {
  std::string line = x + " x ";
  for (size_t i = 0; i < weights.size();) {
    size_t end = i + 1;
    while (end < weights.size() && weights[end] == weights[i])
      ++end;
    line += (i ? ", " : "") + (end - i > 1 ? std::to_string(end - i) + " * " : "") + weights[i];
    i = end;
  }
  return line + (pair ? " pair" : "");
}

const TuningRow *TuningTable::find(const MatmulShape &shape, const Isa &isa) const {
  for (const TuningRow &row : rows)
    if (row.level == isa.name && row.shape == shape)
      return &row;
  return nullptr;
}

kernel::ScheduleAttr ingot::cpu::scheduleOf(const TuningRow &row, MLIRContext *context) {
  return kernel::ScheduleAttr::get(context, row.tiles, row.block, row.prefetch);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Returns "avx2, avxvnni, …".
static std::string levelNames() {
  std::vector<StringRef> names;
  for (const Isa *isa : allIsas())
    names.push_back(isa->name);
  return llvm::join(names, ", ");
}

namespace {

/// The members of one JSON object. Members that have not been taken by finish() are unknown fields.
class Members {
public:
  Members(const json::Object &object, std::string where)
      : object(object), where(std::move(where)) {}

  /// Returns null and records an error if the member is missing.
  const json::Value *take(StringRef name) {
    taken.push_back(name);
    const json::Value *value = object.get(name);
    if (!value)
      fail(("'" + name + "' is missing").str(), "every row needs its key and its schedule");
    return value;
  }
  const json::Value *takeOptional(StringRef name) {
    taken.push_back(name);
    return object.get(name);
  }
  std::string string(StringRef name) {
    const json::Value *value = take(name);
    auto text = value ? value->getAsString() : std::nullopt;
    if (value && !text)
      wrong(name, "a string");
    return text ? text->str() : "";
  }
  int64_t integer(StringRef name) { return asInteger(name, take(name)); }
  int64_t asInteger(StringRef name, const json::Value *value) {
    auto number = value ? value->getAsInteger() : std::nullopt;
    if (value && !number)
      wrong(name, "a whole number");
    return number.value_or(0);
  }
  bool boolean(StringRef name) {
    const json::Value *value = take(name);
    auto flag = value ? value->getAsBoolean() : std::nullopt;
    if (value && !flag)
      wrong(name, "true or false");
    return flag.value_or(false);
  }
  const json::Array *array(StringRef name) {
    const json::Value *value = take(name);
    if (value && !value->getAsArray())
      wrong(name, "a list");
    return value ? value->getAsArray() : nullptr;
  }
  const json::Object *nested(StringRef name) {
    const json::Value *value = take(name);
    if (value && !value->getAsObject())
      wrong(name, "an object");
    return value ? value->getAsObject() : nullptr;
  }

  void wrong(StringRef name, const char *expected) {
    fail(("'" + name + "' is not " + expected).str(), "");
  }
  void fail(std::string what, std::string why) {
    if (!error)
      error = Error{ExitCode::File, "E0441", where + ": " + std::move(what), std::move(why),
                    "write rows with ingot tune; docs/tuning.md describes the fields"};
  }
  /// Returns the first error, after checking for unknown members.
  std::optional<Error> finish() {
    for (const auto &[name, value] : object)
      if (!llvm::is_contained(taken, StringRef(name)))
        fail(("unknown field '" + StringRef(name) + "'").str(),
             didYouMean(name.str(), std::vector<std::string>(taken.begin(), taken.end()),
                        "a row with a misspelt field would have no effect"));
    return error;
  }

private:
  const json::Object &object;
  std::string where;
  SmallVector<StringRef> taken;
  std::optional<Error> error;
};

/// Reads {"1": 60.1, "512": 9000}.
void readFigures(Members &in, StringRef name, std::vector<std::pair<int64_t, double>> &out) {
  const json::Value *value = in.takeOptional(name);
  if (!value)
    return;
  if (!value->getAsObject())
    return in.wrong(name, "an object of microseconds by tokens");
  for (const auto &[key, entry] : *value->getAsObject()) {
    int64_t tokens = 0;
    auto us = entry.getAsNumber();
    if (StringRef(key).getAsInteger(10, tokens) || tokens < 1 || !us || !std::isfinite(*us) ||
        *us < 0)
      return in.wrong(name, "an object of microseconds by tokens");
    out.emplace_back(tokens, *us);
  }
  llvm::sort(out);
}

std::optional<Error> scheduleError(const TuningRow &row, const std::string &where) {
  auto bad = [&](std::string what, std::string why) {
    return Error{ExitCode::File, "E0442", where + ": " + std::move(what), std::move(why),
                 "\"tiles\": [6, 4, 2, 1], \"block\": 60, \"prefetch\": 4096"};
  };
  std::string tiles =
      "[" +
      llvm::join(llvm::map_range(row.tiles, [](int64_t t) { return std::to_string(t); }), ", ") +
      "]";
  if (row.tiles.empty() || row.tiles.back() != 1)
    return bad("tiles " + tiles + " do not end in 1", "a step may have any number of tokens");
  for (size_t i = 0; i < row.tiles.size(); ++i)
    if (row.tiles[i] > kMostTile || (i && row.tiles[i] >= row.tiles[i - 1]))
      return bad("invalid tiles " + tiles,
                 "they must decrease, from at most " + std::to_string(kMostTile) + " tokens");
  if (row.block < 1 || row.block > kMostBlock)
    return bad("a block of " + std::to_string(row.block) + " tokens",
               "blocks have 1 to " + std::to_string(kMostBlock));
  if (row.prefetch < 0 || row.prefetch > kMostPrefetch)
    return bad("prefetching " + std::to_string(row.prefetch) + " bytes ahead",
               "distances are 0 (none) to " + std::to_string(kMostPrefetch));
  return {};
}

Result<TuningRow> readRow(const json::Object &object, const std::string &where) {
  Members in(object, where);
  TuningRow row;
  row.level = in.string("level");
  row.shape.x = in.string("x");
  row.shape.pair = in.boolean("pair");
  if (const json::Array *weights = in.array("weights"))
    for (const json::Value &weight : *weights) {
      if (!weight.getAsString())
        in.wrong("weights", "a list of strings such as \"q4_0 2048x2048\"");
      row.shape.weights.push_back(weight.getAsString().value_or("").str());
    }
  if (const json::Array *tiles = in.array("tiles"))
    for (const json::Value &tile : *tiles)
      row.tiles.push_back(in.asInteger("tiles", &tile));
  row.block = in.integer("block");
  row.prefetch = in.integer("prefetch");
  readFigures(in, "measured_us", row.measured);
  readFigures(in, "model_us", row.model);
  if (auto error = in.finish())
    return *error;
  if (!isaNamed(row.level))
    return Error{ExitCode::File, "E0441", where + ": unknown level '" + row.level + "'",
                 "levels are " + levelNames(), "\"level\": \"avx512\""};
  if (auto error = scheduleError(row, where))
    return *error;
  return row;
}

Result<CpuName> readCpu(const json::Object &object, const std::string &where) {
  Members in(object, where);
  CpuName cpu;
  cpu.name = in.string("name");
  cpu.vendor = in.string("vendor");
  cpu.family = in.integer("family");
  if (const json::Value *model = in.takeOptional("model"))
    cpu.model = in.asInteger("model", model);
  if (auto error = in.finish())
    return *error;
  return cpu;
}

} // namespace

/// Returns whether the JSON nests too deeply for LLVM's parser, which recurses without a limit.
static bool nestsDeeply(StringRef text) {
  int depth = 0;
  return llvm::any_of(text, [&](char c) {
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    return depth > 100;
  });
}

Result<TuningTable> ingot::cpu::parseTuningRows(StringRef text, const std::string &path) {
  if (nestsDeeply(text))
    return Error{ExitCode::File, "E0440", path + " is not a file of tuning rows",
                 "it is nested more than 100 levels deep",
                 "write one with: ingot tune MODEL -o rows.json"};
  auto parsed = json::parse(text);
  if (!parsed)
    return Error{ExitCode::File, "E0440", path + " is not a file of tuning rows",
                 llvm::toString(parsed.takeError()),
                 "write one with: ingot tune MODEL -o rows.json"};
  if (!parsed->getAsObject())
    return Error{ExitCode::File, "E0440", path + " is not a file of tuning rows",
                 "it is JSON, but not an object with cpu and rows",
                 "write one with: ingot tune MODEL -o rows.json"};
  Members in(*parsed->getAsObject(), path);
  TuningTable table;
  table.origin = path.substr(path.find_last_of('/') + 1);
  const json::Object *cpu = in.nested("cpu");
  const json::Array *rows = in.array("rows");
  if (auto error = in.finish())
    return *error;
  auto name = readCpu(*cpu, path + ", cpu");
  if (!name)
    return name.error();
  table.cpu = std::move(*name);
  for (const json::Value &value : *rows) {
    std::string where = path + ", row " + std::to_string(table.rows.size() + 1);
    if (!value.getAsObject())
      return Error{ExitCode::File, "E0441", where + " is not an object", "",
                   "write rows with ingot tune; docs/tuning.md describes the fields"};
    auto row = readRow(*value.getAsObject(), where);
    if (!row)
      return row.error();
    if (table.find(row->shape, *isaNamed(row->level)))
      return Error{ExitCode::File, "E0443", where + ": a second row for " + row->shape.text(),
                   "the choice between them would be arbitrary", "remove one"};
    table.rows.push_back(std::move(*row));
  }
  return table;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string figures(const std::vector<std::pair<int64_t, double>> &of) {
  std::string text;
  for (auto [tokens, us] : of)
    text += (text.empty() ? "" : ", ") + llvm::formatv("\"{0}\": {1:f1}", tokens, us).str();
  return "{" + text + "}";
}

static std::string quoted(StringRef text) {
  std::string out;
  llvm::raw_string_ostream(out) << json::Value(text);
  return out;
}

std::string TuningTable::text() const {
  std::string out =
      "{\"cpu\": {\"name\": " + quoted(cpu.name) + ", \"vendor\": " + quoted(cpu.vendor) +
      ", \"family\": " + std::to_string(cpu.family) +
      (cpu.model ? ", \"model\": " + std::to_string(*cpu.model) : "") + "},\n \"rows\": [";
  for (const TuningRow &row : rows) {
    auto list = [](auto &&items) { return "[" + llvm::join(items, ", ") + "]"; };
    out += &row == rows.data() ? "\n" : ",\n";
    out +=
        "  {\"level\": " + quoted(row.level) + ", \"x\": " + quoted(row.shape.x) +
        ", \"weights\": " +
        list(llvm::map_range(row.shape.weights, [](const std::string &w) { return quoted(w); })) +
        ", \"pair\": " + (row.shape.pair ? "true" : "false") + ",\n   \"tiles\": " +
        list(llvm::map_range(row.tiles, [](int64_t t) { return std::to_string(t); })) +
        ", \"block\": " + std::to_string(row.block) +
        ", \"prefetch\": " + std::to_string(row.prefetch);
    if (!row.measured.empty())
      out += ",\n   \"measured_us\": " + figures(row.measured);
    if (!row.model.empty())
      out += ", \"model_us\": " + figures(row.model);
    out += "}";
  }
  return out + "]}\n";
}
