//===- BitsAndBytes.cpp - Checkpoints of bitsandbytes ----------------------===//
//
//   LLM.int8  X.weight         I8 [N, K]
//             X.SCB            F32 [N]     the largest magnitude of a row
//             X.weight_format  U8          "row", as a number
//
// w = weight * SCB / 127 (bitsandbytes, functional.py: int8_vectorwise_dequant). Here the scale SCB / 127 is rounded to
// f32 once, whereas bitsandbytes rounds the product twice. Values therefore differ by at most the last bit of f32.
//
//   4 bits    X.weight                                   U8 [N K / 2, 1]  codes in row order, the high nibble first
//             X.weight.absmax                            F32 [blocks], or U8 if it is quantised as well
//             X.weight.quant_map                         F32 [16]         the value of each code
//             X.weight.nested_absmax, .nested_quant_map  F32 [blocks / 256], F32 [256]
//             X.weight.quant_state.bitsandbytes__nf4     U8               JSON: shape, blocksize, nested_offset, …
//
// w = quant_map[q] * absmax, and absmax = nested_quant_map[a] * nested_absmax + nested_offset, each rounded to f32 once
// (functional.py: dequantize_4bit; csrc). Kernels multiply integers, but the values in quant_map are not integers. They
// are therefore replaced by the nearest integers (NumericFormat.cpp), and the compiler reports this.
//===----------------------------------------------------------------------===//
#include "compiler/import/config/ConfigJson.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/methods/Quantized.h"
#include "compiler/import/parts/GroupedInts.h"

#include <cmath>

namespace ingot::import {

namespace {

Result<GroupedInts> readInt8(RawTensors &parts, const std::string &name) {
  Result<const Part *> codes = parts.take(name + ".weight", "I8", {-1, -1});
  if (!codes)
    return codes.error();
  const int64_t n = (*codes)->shape[0], k = (*codes)->shape[1];
  Result<const Part *> largest = parts.take(name + ".SCB", kScaleTypes, {n});
  if (!largest)
    return largest.error();
  parts.drop(name + ".weight_format");
  GroupedInts ints{name + ".weight", n, k, 8, k, {}, {}};
  ints.codes = [codes = **codes, k](int64_t first, int64_t count, uint8_t *q, int64_t stride) {
    for (int64_t row = 0; row < count; ++row)
      for (int64_t i = 0; i < k; ++i)
        q[row * stride + i] = codes.byte((first + row) * k + i) ^ 0x80; // w + 128
  };
  ints.scale = [largest = **largest](int64_t row, int64_t) { return largest.number(row) / 127; };
  ints.zero = [](int64_t, int64_t) { return 128; };
  return ints;
}

//===----------------------------------------------------------------------===//
// Four bits
//===----------------------------------------------------------------------===//

/// A code table of bitsandbytes (functional.py: get_4bit_type), and the factor from its values to the values of our
/// format.
struct Kind {
  const char *name;
  WeightFormat format;
  float units; ///< the largest magnitude in the format's integer units
  float numbers[16];
};

constexpr float twelfths(float count) { return count / 12; }

constexpr Kind kKinds[] = {
    {"nf4",
     WeightFormat::Nf4,
     123.26f,
     {-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
      -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
      0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
      0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f}},
    {"fp4",
     WeightFormat::Fp4,
     120,
     {0, twelfths(0.0625f), twelfths(8), twelfths(12), twelfths(4), twelfths(6), twelfths(2),
      twelfths(3), 0, twelfths(-0.0625f), twelfths(-8), twelfths(-12), twelfths(-4), twelfths(-6),
      twelfths(-2), twelfths(-3)}},
};

/// The scales of blocks, which may be quantised as well.
struct Magnitudes {
  Part largest;
  std::optional<Part> numbers, scales; ///< if quantised
  int64_t block = 256;                 ///< codes per entry of `scales`
  float offset = 0;

  float at(int64_t i) const {
    if (!numbers)
      return largest.number(i);
    const float product = numbers->number(largest.byte(i)) * scales->number(i / block);
    return product + offset;
  }
};

/// The fields of quant_state.
struct State {
  int64_t rows, columns, block, nestedBlock;
  double nestedOffset;
};

Error oddState(const std::string &name, const std::string &why) {
  return refuse(cause::quantPart, line("the state of ", inQuotes(name), " is invalid"), why,
                "save the checkpoint again with a current bitsandbytes");
}

Result<State> readState(const Part &part, const std::string &name, const Kind &kind) {
  CheckpointBuilder settings(Container::Safetensors);
  const std::string_view text(reinterpret_cast<const char *>(part.data.data()), part.data.size());
  if (auto read = readSettings(text, part.name, "state", settings); !read)
    return read.error();
  const QuantConfig state(settings, "state.");
  const std::vector<int64_t> shape = state.integers("shape");
  const std::string *type = state.text("quant_type");
  const Result<int64_t> block = state.integerOr("blocksize", 64),
                        nested = state.integerOr("nested_blocksize", 256);
  if (!block || !nested)
    return block ? nested.error() : block.error();
  constexpr int64_t kLargestBlock = 1 << 20;
  const bool blocksFit =
      *block >= 1 && *block <= kLargestBlock && *nested >= 1 && *nested <= kLargestBlock;
  if (shape.size() != 2 || !countElements(name, shape, 2) || !blocksFit)
    return oddState(name, line("its shape is ", printedShape(shape), ", in blocks of ", *block));
  if (type && *type != kind.name)
    return oddState(name,
                    line("its quant_type is ", inQuotes(*type), ", its name implies ", kind.name));
  State found{shape[0], shape[1], *block, *nested, 0};
  if (const MetaValue *offset = state.find("nested_offset")) {
    if (const auto *number = std::get_if<double>(offset))
      found.nestedOffset = *number;
    else if (const auto *whole = std::get_if<int64_t>(offset))
      found.nestedOffset = static_cast<double>(*whole);
  }
  return found;
}

Result<Magnitudes> readMagnitudes(RawTensors &parts, const std::string &name, const State &state) {
  const int64_t blocks = (state.rows * state.columns + state.block - 1) / state.block;
  Result<const Part *> largest = parts.take(name + ".absmax", "F32 F16 BF16 F8_E8M0 U8", {blocks});
  if (!largest)
    return largest.error();
  Magnitudes found{**largest, {}, {}};
  if ((*largest)->dtype != "U8")
    return found;
  Result<const Part *> numbers = parts.take(name + ".nested_quant_map", "F32", {256});
  if (!numbers)
    return numbers.error();
  found.block = state.nestedBlock;
  Result<const Part *> scales =
      parts.take(name + ".nested_absmax", kScaleTypes, {(blocks + found.block - 1) / found.block});
  if (!scales)
    return scales.error();
  found.numbers = **numbers, found.scales = **scales;
  found.offset = static_cast<float>(state.nestedOffset);
  return found;
}

Result<GroupedInts> readFourBits(RawTensors &parts, const std::string &name, const Kind &kind) {
  Result<const Part *> text =
      parts.take(name + ".quant_state.bitsandbytes__" + kind.name, "U8", {-1});
  if (!text)
    return text.error();
  Result<State> state = readState(**text, name, kind);
  if (!state)
    return state.error();
  const int64_t n = state->rows, k = state->columns;
  if (k % 64 != 0 || state->block % 64 != 0)
    return refuse(
        cause::quantPart, line("the block size of ", inQuotes(name), " does not divide its rows"),
        line("rows of ", k, " values, blocks of ", state->block, "; multiples of 64 are supported"),
        "use the original checkpoint, with --quantize int4-g64");
  Result<const Part *> codes = parts.take(name, "U8");
  if (!codes)
    return codes.error();
  if ((*codes)->elements() != n * (k / 2))
    return oddState(name, line("it is ", n, "x", k, ", its codes are ",
                               printedShape((*codes)->shape), " bytes"));
  Result<Magnitudes> largest = readMagnitudes(parts, name, *state);
  if (!largest)
    return largest.error();
  Result<const Part *> map = parts.take(name + ".quant_map", "F32", {16});
  if (!map)
    return map.error();
  for (int64_t i = 0; i < 16; ++i)
    if (!(std::abs((*map)->number(i) - kind.numbers[i]) <= 1e-6f))
      return refuse(cause::quantValue,
                    line("the code book of ", inQuotes(name), " is not standard"),
                    line("number ", i, " of quant_map is ", (*map)->number(i), ", of ", kind.name,
                         " it is ", kind.numbers[i]),
                    "use the original checkpoint, with --quantize int4-g64");
  GroupedInts ints{name, n, k, 4, 64, {}, {}};
  ints.format = kind.format;
  ints.codes = [codes = **codes, k](int64_t first, int64_t count, uint8_t *q, int64_t stride) {
    for (int64_t row = 0; row < count; ++row, q += stride)
      for (int64_t i = 0; i < k; i += 2) {
        const uint8_t both = codes.byte((first + row) * (k / 2) + i / 2);
        q[i] = both >> 4, q[i + 1] = both & 15;
      }
  };
  ints.scale = [largest = *largest, inRow = k / 64, inBlock = state->block / 64,
                units = kind.units](int64_t row, int64_t g) {
    return largest.at((row * inRow + g) / inBlock) / units;
  };
  return ints;
}

} // namespace

Result<void> readBitsAndBytes(CheckpointBuilder &builder, const QuantConfig &config) {
  const Result<bool> four = config.booleanOr("load_in_4bit", false);
  if (!four)
    return four.error();
  if (auto known = config.oneOf("bnb_4bit_quant_type", {"nf4", "fp4"}); !known)
    return known;
  const std::string *type = config.text("bnb_4bit_quant_type");
  config.harmless({"quant_method", "load_in_8bit", "_load_in_8bit", "_load_in_4bit", "llm_int8*",
                   "bnb_4bit*", "modules_to_not_convert"});
  const bool nf4 = type && *type == "nf4";
  builder.setLayerFormat(!*four ? WeightFormat::Int8F
                         : nf4  ? WeightFormat::Nf4
                                : WeightFormat::Fp4);
  RawTensors parts(builder);
  std::vector<GroupedInts> matrices;
  for (const std::string &name : parts.endingWith(".SCB")) {
    Result<GroupedInts> read = readInt8(parts, name);
    if (!read)
      return read.error();
    matrices.push_back(std::move(*read));
  }
  for (const Kind &kind : kKinds) {
    const std::vector<std::string> names =
        parts.endingWith(std::string(".quant_state.bitsandbytes__") + kind.name);
    for (const std::string &name : names) {
      Result<GroupedInts> read = readFourBits(parts, name, kind);
      if (!read)
        return read.error();
      matrices.push_back(std::move(*read));
    }
    if (!names.empty())
      builder.note(line(names.size(), " matrices of ", kind.name, ": its values become integers / ",
                        kind.units, ", which are off by up to ",
                        kind.format == WeightFormat::Nf4 ? "0.28" : "0.31",
                        " % of the largest of 64 values"));
  }
  if (auto added = addGroupedInts(builder, parts, std::move(matrices)); !added)
    return added;
  parts.finish();
  return {};
}

} // namespace ingot::import
