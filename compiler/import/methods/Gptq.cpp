//===- Gptq.cpp - Checkpoints of GPTQ, AutoGPTQ and GPTQModel --------------===//
//
//   X.qweight  I32 [K b / 32, N]    b bits of value k at bit k b of the column's words, the lowest first
//   X.qzeros   I32 [K / g, N b / 32] the same along N; "gptq" (v1) stores the zero point minus one
//   X.scales   F16 [K / g, N]
//   X.g_idx    I32 [K]              the group of each k; k / g if it is missing
//
// w[n][k] = scales[g][n] * (q - z). Formats and names: AutoGPTQ (auto_gptq/nn_modules/qlinear), GPTQModel.
//
// In a symmetric file, the zero points show the version: all of them are 2^(b - 1), so v1 stores one less. The version
// in `checkpoint_format` is often wrong in such files and is used only for other files.
//
// In v1 a stored zero point with all bits 1 is ambiguous: some kernels add one in b bits and get 0, and others get 2^b.
// A symmetric checkpoint never contains such a zero point.
//
// AutoRound, Intel's neural-compressor and others write the same tensors under names of their own.
//===----------------------------------------------------------------------===//
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/methods/ExporterKeys.h"
#include "compiler/import/methods/Quantized.h"
#include "compiler/import/parts/GroupedInts.h"

#include <algorithm>
#include <optional>

namespace ingot::import {

namespace {

/// Returns code `i` of a stream of codes of `bits` bits. Word w of the stream is at first + w * stride.
uint32_t codeOf(const Part &words, int64_t first, int64_t stride, int64_t i, int bits) {
  const int64_t bit = i * bits, word = bit / 32, in = bit % 32;
  uint64_t pair = words.word(first + word * stride);
  if (in + bits > 32)
    pair |= static_cast<uint64_t>(words.word(first + (word + 1) * stride)) << 32;
  return static_cast<uint32_t>(pair >> in) & ((1u << bits) - 1);
}

/// Reads the codes of some columns of words. A column of words is a row of the weight. Words are read row by row,
/// because the words of a row are adjacent.
void readColumns(const Part &words, int64_t n, int64_t k, int bits, int64_t first, int64_t count,
                 uint8_t *q, int64_t stride) {
  if (bits == 3) { // codes may cross words
    for (int64_t i = 0; i < k; ++i)
      for (int64_t row = 0; row < count; ++row)
        q[row * stride + i] = static_cast<uint8_t>(codeOf(words, first + row, n, i, bits));
    return;
  }
  const int64_t inWord = 32 / bits;
  const uint32_t mask = (1u << bits) - 1;
  for (int64_t i = 0; i < k; i += inWord)
    for (int64_t row = 0; row < count; ++row) {
      const uint32_t word = words.word(i / inWord * n + first + row);
      for (int64_t j = 0; j < inWord; ++j)
        q[row * stride + i + j] = static_cast<uint8_t>(word >> (j * bits) & mask);
    }
}

struct Settings {
  int bits;
  int64_t group;                 ///< -1: all K
  std::optional<bool> symmetric; ///< empty: not specified
};

/// A matrix with zero points that cannot be decoded until the version is known.
struct Matrix {
  GroupedInts ints;
  Part zeros;
  std::optional<bool> symmetric;
  int64_t groups() const { return (ints.columns + ints.group - 1) / ints.group; }
  int storedZero(int64_t row, int64_t g) const {
    return static_cast<int>(codeOf(zeros, g * (ints.rows * ints.bits / 32), 1, row, ints.bits));
  }
};

Result<Matrix> readMatrix(RawTensors &parts, const std::string &name, const Settings &own) {
  Result<const Part *> codes = parts.take(name + ".qweight", "I32 U32", {-1, -1});
  if (!codes)
    return codes.error();
  const int64_t n = (*codes)->shape[1], k = (*codes)->shape[0] * 32 / own.bits,
                group = own.group < 0 ? k : std::min(k, own.group),
                groups = (k + group - 1) / group;
  if ((*codes)->shape[0] % (own.bits == 3 ? 3 : 1) != 0 || n * own.bits % 32 != 0)
    return refuse(
        cause::quantPart, line("tensor ", inQuotes(name + ".qweight"), " is not part of a weight"),
        line("it is ", printedShape((*codes)->shape), " words, for codes of ", own.bits, " bits"),
        "take configuration and tensors from the same checkpoint");
  Result<const Part *> zeros = parts.take(name + ".qzeros", "I32 U32", {groups, n * own.bits / 32});
  if (!zeros)
    return zeros.error();
  Result<const Part *> scales = parts.take(name + ".scales", kScaleTypes, {groups, n});
  if (!scales)
    return scales.error();
  Matrix matrix{{name + ".weight", n, k, own.bits, group, {}, {}}, **zeros, own.symmetric};
  GroupedInts &ints = matrix.ints;
  if (parts.has(name + ".g_idx")) {
    Result<const Part *> part = parts.take(name + ".g_idx", "I32 I64", {k});
    if (!part)
      return part.error();
    Result<std::vector<int32_t>> order = readOrder(**part, group, groups);
    if (!order)
      return order.error();
    ints.order = std::move(*order);
  }
  ints.codes = [codes = **codes, n, k, bits = own.bits](int64_t first, int64_t count, uint8_t *q,
                                                        int64_t stride) {
    readColumns(codes, n, k, bits, first, count, q, stride);
  };
  ints.scale = [scales = **scales, n](int64_t row, int64_t g) {
    return scales.number(g * n + row);
  };
  return matrix;
}

/// Drops a bias of zeros. AutoGPTQ gave every matrix a bias, which is zero if the model has none.
void dropEmptyBias(RawTensors &parts, const std::string &name) {
  const Part *bias = parts.find(name + ".bias");
  if (bias && std::ranges::all_of(bias->data, [](std::byte byte) { return byte == std::byte(0); }))
    parts.drop(bias->name);
}

//===----------------------------------------------------------------------===//
// Version
//===----------------------------------------------------------------------===//

enum class Version { V1, V2 };

std::string_view nameOf(Version version) { return version == Version::V1 ? "gptq" : "gptq_v2"; }

/// A statement of the version in the configuration: its key, and the version.
struct Claim {
  std::string key;
  Version version;
};

struct Place {
  int64_t row = 0, group = 0;
};

/// Returns the version in which all zero points of a matrix are the middle of its codes. If there is no such version,
/// returns nothing and sets `odd` to the first place at which the zero point differs.
std::optional<Version> versionIfSymmetric(const Matrix &matrix, Place &odd) {
  const int middle = 1 << (matrix.ints.bits - 1), first = matrix.storedZero(0, 0);
  odd = {};
  if (first != middle && first != middle - 1)
    return std::nullopt;
  for (odd.group = 0; odd.group < matrix.groups(); ++odd.group)
    for (odd.row = 0; odd.row < matrix.ints.rows; ++odd.row)
      if (matrix.storedZero(odd.row, odd.group) != first)
        return std::nullopt;
  return first == middle ? Version::V2 : Version::V1;
}

Error notSymmetric(const Matrix &matrix, Place at) {
  const int middle = 1 << (matrix.ints.bits - 1);
  return refuse(cause::quantValue,
                line("the zero points of ", inQuotes(matrix.ints.name),
                     " contradict 'quantization_config.sym'"),
                line("sym is true, so each of them is ", middle, ", which files of gptq store as ",
                     middle - 1, " and those of gptq_v2 as ", middle, "; row ", at.row, ", group ",
                     at.group, " stores ", matrix.storedZero(at.row, at.group)),
                "set sym to false if the zero points are right; otherwise quantise the original "
                "checkpoint: --quantize int4-g64");
}

/// Returns the version that symmetric matrices show, or nothing if there are none. Errors: E0478: the matrices
/// contradict each other or `sym`.
Result<std::optional<Version>> shownVersion(const std::vector<Matrix> &matrices) {
  const Matrix *shows = nullptr;
  Version version{};
  bool allOpen = true; // all matrices without a `sym` setting look symmetric
  for (int round = 0; round < 2; ++round)
    for (const Matrix &matrix : matrices) {
      const bool given = matrix.symmetric.has_value();
      if ((given && !*matrix.symmetric) || (round == 1 && !given && !allOpen))
        continue;
      Place odd;
      const std::optional<Version> own = versionIfSymmetric(matrix, odd);
      if (round == 0) {
        if (given && !own)
          return notSymmetric(matrix, odd);
        allOpen &= own.has_value();
        continue;
      }
      if (shows && *own != version)
        return refuse(cause::quantValue,
                      line(inQuotes(shows->ints.name), " and ", inQuotes(matrix.ints.name),
                           " use two versions of GPTQ"),
                      line("both are symmetric; they store zero points of ",
                           shows->storedZero(0, 0), " (", nameOf(version), ") and of ",
                           matrix.storedZero(0, 0), " (", nameOf(*own), ")"),
                      "take all tensors from the same checkpoint");
      shows = &matrix, version = *own;
    }
  return shows ? std::optional(version) : std::nullopt;
}

/// Checks a matrix of v1. Errors: E0478: a stored zero point is one that some kernels read as 0 and others as 2^b.
Result<void> expectNoOverflow(const Matrix &matrix) {
  const int largest = (1 << matrix.ints.bits) - 1;
  for (int64_t g = 0; g < matrix.groups(); ++g)
    for (int64_t row = 0; row < matrix.ints.rows; ++row)
      if (matrix.storedZero(row, g) == largest)
        return refuse(
            cause::quantValue,
            line("a zero point of ", inQuotes(matrix.ints.name), " is ambiguous"),
            line("group ", g, ", row ", row, " stores ", largest, ", which is ", largest + 1,
                 " or 0, depending on the reader"),
            "save the checkpoint again as gptq_v2 (GPTQModel), which stores it unchanged; if it "
            "already is one, set quantization_config.checkpoint_format to gptq_v2");
  return {};
}

/// Sets the zero points of all matrices.
Result<void> settleZeros(CheckpointBuilder &builder, std::vector<Matrix> &matrices,
                         const std::vector<Claim> &claims) {
  const Result<std::optional<Version>> shown = shownVersion(matrices);
  if (!shown)
    return shown.error();
  for (const Claim &claim : claims)
    if (!*shown && claim.version != claims.front().version)
      return refuse(cause::fp8Config, "the configuration names two versions of GPTQ",
                    line("quantization_config.", claims.front().key, " is ",
                         nameOf(claims.front().version), ", .", claim.key, " is ",
                         nameOf(claim.version), "; the zero points do not show which is right"),
                    line("remove the wrong one of the two keys"));
    else if (*shown && claim.version != **shown)
      builder.note(line("quantization_config.", claim.key, " is ", nameOf(claim.version),
                        ", but the zero points of this symmetric model are those of ",
                        nameOf(**shown), ", which is used"));
  const Version version = *shown ? **shown : claims.empty() ? Version::V1 : claims.front().version;
  for (Matrix &matrix : matrices) {
    if (version == Version::V1)
      if (auto plain = expectNoOverflow(matrix); !plain)
        return plain;
    matrix.ints.zero = [zeros = matrix.zeros, words = matrix.ints.rows * matrix.ints.bits / 32,
                        bits = matrix.ints.bits,
                        less = version == Version::V1 ? 1 : 0](int64_t row, int64_t g) {
      return static_cast<int>(codeOf(zeros, g * words, 1, row, bits)) + less;
    };
  }
  return {};
}

//===----------------------------------------------------------------------===//
// quantization_config
//===----------------------------------------------------------------------===//

constexpr char kOneWidth[] =
    "use a checkpoint whose layers have one width, or the original one with "
    "--quantize and a --recipe";

/// Reads the settings under the prefix `at`, which is "" or "extra_config.MODULE.".
Result<Settings> readSettings(const QuantConfig &config, const std::string &at,
                              const Settings &otherwise) {
  const Result<int64_t> bits = config.integerOr(at + "bits", otherwise.bits),
                        group = config.integerOr(at + "group_size", otherwise.group);
  if (!bits || !group)
    return bits ? group.error() : bits.error();
  if (*bits != 2 && *bits != 3 && *bits != 4 && *bits != 8)
    return config.unsupported(at + "bits", line(*bits), "2, 3, 4, 8");
  if (*group < -1 || *group == 0)
    return config.unsupported(at + "group_size", line(*group), "-1, or a multiple of 32");
  Settings read{static_cast<int>(*bits), *group, otherwise.symmetric};
  if (config.has(at + "sym")) {
    const Result<bool> symmetric = config.booleanOr(at + "sym", true);
    if (!symmetric)
      return symmetric.error();
    read.symmetric = *symmetric;
  }
  return read;
}

/// Reads the settings for all modules. Intel's programs write "scheme" instead of sym, and the oldest files have
/// "wbits" and "groupsize".
Result<Settings> readSettings(const QuantConfig &config) {
  const Result<int64_t> bits = config.integerOr("wbits", 4),
                        group = config.integerOr("groupsize", -1);
  if (!bits || !group)
    return bits ? group.error() : bits.error();
  Settings otherwise{static_cast<int>(std::clamp<int64_t>(*bits, 0, 99)), *group, {}};
  if (auto known = config.oneOf("scheme", {"sym", "asym"}); !known)
    return known.error();
  if (const std::string *scheme = config.text("scheme"))
    otherwise.symmetric = *scheme == "sym";
  return readSettings(config, "", otherwise);
}

/// Reads the keys that state the version. Errors: E0473: a key names another layout.
Result<std::vector<Claim>> readClaims(const QuantConfig &config) {
  std::vector<Claim> claims;
  for (const char *key : {"checkpoint_format", "format"}) {
    if (auto known = config.oneOf(key, {"gptq", "gptq_v2"}); !known)
      return known.error();
    if (const std::string *given = config.text(key))
      claims.push_back({key, *given == "gptq" ? Version::V1 : Version::V2});
  }
  return claims;
}

Result<void> read(CheckpointBuilder &builder, const QuantConfig &config,
                  const std::vector<Claim> &claims) {
  for (auto fine : {config.exactly("is_marlin_format", false),
                    config.oneOf("pack_dtype", {"int32", "torch.int32"}),
                    config.oneOf("data_type", {"int", "int_sym", "int_asym"}),
                    config.oneOf("weight_dtype", {"int", "int2", "int3", "int4", "int8",
                                                  "int4_clip", "int4_fullrange"})})
    if (!fine)
      return fine;
  markExporterKeys(config);
  const Result<Settings> all = readSettings(config);
  if (!all)
    return all.error();
  builder.setLayerFormat(formatOfGroups(all->bits, all->group, all->symmetric && !*all->symmetric));
  RawTensors parts(builder);
  const std::vector<std::string> names = parts.endingWith(".qweight");
  for (const char *object : {"dynamic", "extra_config"})
    if (auto known = config.ownSettings(object, names, kOneWidth); !known)
      return known;
  std::vector<Matrix> matrices;
  for (const std::string &name : names) {
    Settings own = *all;
    for (const char *object : {"dynamic.", "extra_config."}) {
      Result<Settings> read = readSettings(config, object + name + ".", own);
      if (!read)
        return read.error();
      own = *read;
    }
    Result<Matrix> matrix = readMatrix(parts, name, own);
    if (!matrix)
      return matrix.error();
    matrices.push_back(std::move(*matrix));
    dropEmptyBias(parts, name);
  }
  if (auto settled = settleZeros(builder, matrices, claims); !settled)
    return settled;
  std::vector<GroupedInts> ints;
  for (Matrix &matrix : matrices)
    ints.push_back(std::move(matrix.ints));
  if (auto added = addGroupedInts(builder, parts, std::move(ints)); !added)
    return added;
  parts.finish();
  return {};
}

} // namespace

Result<void> readGptq(CheckpointBuilder &builder, const QuantConfig &config) {
  const Result<std::vector<Claim>> claims = readClaims(config);
  return claims ? read(builder, config, *claims) : claims.error();
}

// "auto_round:auto_gptq" and "auto_round:gptq:exllamav2" are v1, "auto_round:gptqmodel" and "auto_round" v2 (AutoRound,
// inference/backend.py: GPTQ_FORMAT, GPTQ_FORMAT_NO_ZP).
Result<void> readAutoRound(CheckpointBuilder &builder, const QuantConfig &config) {
  constexpr char kDefault[] = "auto_round:auto_gptq";
  const char *key = config.text("packing_format") ? "packing_format" : "backend";
  const std::string *given = config.text(key);
  const std::string packing = given ? *given : kDefault;
  const auto names = [&](std::string_view part) { return packing.find(part) != std::string::npos; };
  if (names("awq"))
    return readAwq(builder, config);
  const bool own = packing == "auto_round" || packing == "auto" ||
                   packing.starts_with("auto_round:exllama") || names("gptqmodel");
  if (!own && !names("gptq"))
    return config.unsupported(key, inQuotes(packing),
                              "auto_round, auto_round:auto_gptq, auto_round:gptqmodel, "
                              "auto_round:auto_awq");
  Result<std::vector<Claim>> claims = readClaims(config);
  if (!claims)
    return claims.error();
  claims->push_back({key, own ? Version::V2 : Version::V1});
  return read(builder, config, *claims);
}

} // namespace ingot::import
