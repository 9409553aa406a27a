//===- QuantizedVariantsTest.cpp - Variants that the different exporters write ----===//
//
// The variants are versions of GPTQ and names of its method, keys that do not affect the numbers, groups that do not
// divide a row, scales of every type, and scales of zero.
//===----------------------------------------------------------------------===//
#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/import/parts/RawTensors.h"
#include "tests/compiler/import/QuantizedGolden.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace ingot;
using namespace ingot::import;
using namespace ingot::test;

namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::vector<float> rowsOfVariant(const Tensor &matrix) {
  const int64_t k = matrix.shape.back(), rows = matrix.elements() / k;
  std::vector<float> all(static_cast<size_t>(rows * k));
  for (int64_t r = 0; r < rows; ++r) {
    EXPECT_TRUE(dequantizeRow(matrix, r, std::span(all).subspan(size_t(r * k), size_t(k))));
  }
  return all;
}

struct Read {
  std::vector<float> values;
  std::vector<std::string> notes, unused;
};

/// Returns the numbers of the golden's matrix; reports a failure if it does not open.
Read readGolden(const Golden &golden, const std::string &what = "") {
  TemporaryFolder folder;
  Opened opened = open(golden, folder);
  if (!opened) {
    ADD_FAILURE() << what << ": " << opened.error().format();
    return {};
  }
  const Tensor *matrix = (*opened)->find(golden.matrix);
  EXPECT_TRUE(matrix) << what;
  Read read{matrix ? rowsOfVariant(*matrix) : std::vector<float>(), (*opened)->notes, {}};
  for (const std::string &key : (*opened)->unusedKeys())
    if (key.starts_with("quantization"))
      read.unused.push_back(key);
  return read;
}

Error errorOf(const Golden &golden) {
  TemporaryFolder folder;
  Opened opened = open(golden, folder);
  EXPECT_FALSE(opened);
  return opened ? Error{} : opened.error();
}

template <typename T> std::string bytesOf(const std::vector<T> &numbers) {
  return {reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(T)};
}

/// Returns a stream of codes of `bits` bits, all equal to `code`, with as many bytes as `like`.
std::string filled(const std::string &like, int bits, uint32_t code) {
  std::string bytes(like.size(), '\0');
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit)
    if (code >> (bit % size_t(bits)) & 1)
      bytes[bit / 8] = static_cast<char>(static_cast<uint8_t>(bytes[bit / 8]) | 1u << bit % 8);
  return bytes;
}

/// Adds a member to `config`.
void addKey(Golden &golden, const std::string &member) {
  golden.config.insert(golden.config.rfind('}'), ", " + member);
}

//===----------------------------------------------------------------------===//
// GPTQ
//===----------------------------------------------------------------------===//

struct Width {
  const char *golden;
  int bits;
};
constexpr Width kSymmetric[] = {
    {"gptq-2-symmetric", 2}, {"gptq-3-g32", 3}, {"gptq-4-g128", 4}, {"gptq-8-g128", 8}};

/// Returns a file of the given width whose zero points are all stored as `zero`, without any version key.
Golden symmetric(const Width &width, uint32_t zero) {
  Golden golden = GoldenFile().read().at(width.golden);
  if (golden.config.find("checkpoint_format") != std::string::npos)
    golden.replace(", \"checkpoint_format\": \"gptq\"", "");
  if (golden.config.find("\"sym\": false") != std::string::npos)
    golden.replace("\"sym\": false", "\"sym\": true");
  golden["w.qzeros"].bytes = filled(golden["w.qzeros"].bytes, width.bits, zero);
  return golden;
}

TEST(Gptq, SymmetricZerosSayTheVersion) {
  for (const Width &width : kSymmetric) {
    const uint32_t middle = 1u << (width.bits - 1);
    const Golden first = symmetric(width, middle - 1), second = symmetric(width, middle);
    const std::vector<float> wanted = readGolden(first, width.golden).values;
    if (width.bits != 3) // its golden is asymmetric
      EXPECT_EQ(wanted, first.values) << width.golden;
    for (const char *claim :
         {"", "\"checkpoint_format\": \"gptq\"", "\"checkpoint_format\": \"gptq_v2\"",
          "\"format\": \"gptq\"", "\"format\": \"gptq_v2\", \"checkpoint_format\": \"gptq\""})
      for (const Golden &file : {first, second}) {
        Golden claimed = file;
        if (*claim)
          addKey(claimed, claim);
        EXPECT_EQ(readGolden(claimed).values, wanted) << width.golden << ": " << claim;
        Golden unsaid = claimed; // true is the default
        unsaid.replace("\"sym\": true, ", "");
        EXPECT_EQ(readGolden(unsaid).values, wanted) << width.golden << ": " << claim;
      }
    Golden wrong = second;
    addKey(wrong, "\"checkpoint_format\": \"gptq\"");
    const std::vector<std::string> notes = readGolden(wrong).notes;
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_HAS(
        notes[0],
        "checkpoint_format is gptq, but the zero points of this symmetric model are those of "
        "gptq_v2");
  }
}

TEST(Gptq, ContradictionsAreRefusedWithBothInTheWords) {
  for (const Width &width : kSymmetric) {
    const uint32_t middle = 1u << (width.bits - 1);
    for (uint32_t other : {0u, middle + 1}) {
      const Golden golden = symmetric(width, other);
      const Error error = errorOf(golden);
      EXPECT_EQ(error.code, "E0478");
      EXPECT_HAS(error.why, "sym is true");
      EXPECT_HAS(error.why, "stores " + std::to_string(other));
      EXPECT_HAS(error.fix, "sym to false");
    }
    Golden one = symmetric(width, middle - 1); // changes only the last code
    auto &last = one["w.qzeros"].bytes.back();
    last = static_cast<char>(last ^ 0x80);
    EXPECT_EQ(errorOf(one).code, "E0478") << width.golden;
  }
  Golden mixed = symmetric(kSymmetric[2], 7), other = symmetric(kSymmetric[2], 8);
  for (StoredTensor tensor : other.tensors) {
    tensor.name.replace(0, 1, "v");
    mixed.tensors.push_back(tensor);
  }
  const Error error = errorOf(mixed);
  EXPECT_EQ(error.code, "E0478");
  EXPECT_HAS(error.why, "7 (gptq)");
  EXPECT_HAS(error.why, "8 (gptq_v2)");
}

/// If zero points differ, only the configuration tells which version it is.
TEST(Gptq, AsymmetricZerosNeedTheClaim) {
  const Golden golden = GoldenFile().read().at("gptq-4-v2");
  Golden newer = golden; // transformers 5, GPTQModel 5
  newer.replace("\"checkpoint_format\"", "\"format\"");
  EXPECT_EQ(readGolden(newer).values, golden.values);
  addKey(newer, "\"checkpoint_format\": \"gptq\"");
  const Error error = errorOf(newer);
  EXPECT_EQ(error.code, "E0473");
  EXPECT_HAS(error.why, "checkpoint_format is gptq, .format is gptq_v2");
  for (const char *layout : {"\"checkpoint_format\": \"marlin\"", "\"format\": \"gptq_p\"",
                             "\"is_marlin_format\": true", "\"pack_dtype\": \"int16\""}) {
    Golden odd = GoldenFile().read().at("gptq-4-g32-asymmetric");
    addKey(odd, layout);
    EXPECT_EQ(codeOf(odd), "E0473") << layout;
  }
}

TEST(Gptq, KeysOfExporters) {
  const Golden golden = GoldenFile().read().at("gptq-4-g128");
  for (
      const char *keys :
      {R"("modules_to_not_convert": ["lm_head", "visual"])",
       R"("modules_to_not_convert": null, "llm_int8_skip_modules": ["lm_head"])",
       // AutoGPTQ
       R"("damp_percent": 0.1, "static_groups": false, "true_sequential": true,
              "model_name_or_path": null, "model_file_base_name": "model", "is_marlin_format": false)",
       // GPTQModel 2 to 7
       R"("method": "gptq", "format": "gptq", "pack_dtype": "int32", "lm_head": false,
              "dynamic": {"-:.*visual.*": {}, "lm_head": {"bits": 16}},
              "meta": {"quantizer": ["gptqmodel:5.7.0"], "uri": "u", "damp_percent": 0.05, "gptaq": null,
                       "fallback": {"strategy": "rtn", "threshold": "0.5%"}, "hessian": {"chunk_size": null}},
              "act_group_aware": true, "mock_quantization": false, "vram_strategy": "exclusive")",
       // Optimum
       R"("tokenizer": null, "dataset": ["a", "b"], "use_cuda_fp16": false, "model_seqlen": 4096,
              "block_name_to_quantize": "model.layers", "module_name_preceding_first_block": ["model.embed_tokens"],
              "batch_size": 1, "pad_token_id": null, "use_exllama": true, "max_input_length": null,
              "exllama_config": {"version": 1}, "cache_block_outputs": true, "backend": "auto",
              "modules_in_block_to_quantize": [["self_attn.q_proj"], ["mlp.down_proj"]])",
       // vLLM's own key, and AutoRound's export to AutoGPTQ
       R"("autoround_version": "0.9.0", "provider": "auto-round", "data_type": "int", "iters": 200, "lr": 0.005,
              "minmax_lr": 0.005, "nsamples": 128, "seqlen": 2048, "amp": true, "batch_size": 8,
              "low_gpu_mem_usage": false, "enable_quanted_input": true, "enable_minmax_tuning": true,
              "enable_norm_bias_tuning": false, "gradient_accumulate_steps": 1, "scale_dtype": "torch.float16",
              "act_bits": 16, "act_group_size": 128, "act_dynamic": true, "quant_block_list": null,
              "static_kv_granularity": "tensor", "to_quant_block_names": "model.layers",
              "extra_config": {"lm_head": {"bits": 16, "data_type": "fp"}, "w": {"bits": 4, "group_size": 128}})",
       // Intel neural-compressor
       R"("weight_dtype": "int4_clip", "scale_dtype": "fp32", "compute_dtype": "fp32", "scheme": "sym",
              "use_double_quant": false, "double_quant_scale_dtype": null, "use_mse_search": false,
              "use_layer_wise": false, "layer_wise": false, "n_samples": 128, "seq_len": 2048, "use_quant": true,
              "use_ggml": false, "use_neural_speed": false, "use_ipex": false, "blocksize": 128,
              "export_compressed_model": false)"}) {
    Golden more = golden;
    addKey(more, keys);
    const Read read = readGolden(more, keys);
    EXPECT_EQ(read.values, golden.values) << keys;
    EXPECT_TRUE(read.unused.empty()) << read.unused.front();
  }
  Golden unknown = golden;
  addKey(unknown, R"("rotation": "hadamard")");
  EXPECT_EQ(readGolden(unknown).unused, std::vector<std::string>{"quantization_config.rotation"});
  for (const char *odd : {R"("data_type": "mx_fp")", R"("weight_dtype": "nf4")",
                          R"("dynamic": {"+:.*down.*": {"bits": 8}})"}) {
    Golden other = golden;
    addKey(other, odd);
    EXPECT_EQ(codeOf(other), "E0473") << odd;
  }
}

TEST(Gptq, OtherNamesOfTheMethod) {
  const Golden golden = GoldenFile().read().at("gptq-4-g128"),
               asymmetric = GoldenFile().read().at("gptq-4-g32-asymmetric"),
               second = GoldenFile().read().at("gptq-4-v2");
  for (const char *name : {"GPTQ", "gptqmodel", "auto_gptq", "gptq_marlin", "rtn"}) {
    Golden named = golden;
    named.replace("\"quant_method\": \"gptq\"", "\"quant_method\": \"" + std::string(name) + "\"");
    EXPECT_EQ(readGolden(named, name).values, golden.values);
  }
  Golden method = golden; // as in GPTQModel 6
  method.replace("\"quant_method\"", "\"method\"");
  EXPECT_EQ(readGolden(method).values, golden.values);
  const auto autoRound = [](Golden file, const std::string &keys) {
    file.replace("\"quant_method\": \"gptq\"", "\"quant_method\": \"auto-round\"" + keys);
    if (const size_t at = file.config.find(", \"checkpoint_format\""); at != std::string::npos)
      file.config.erase(at, file.config.find('"', at + 24) - at), file.config += "}";
    return file;
  };
  for (const char *packing : {"", ", \"packing_format\": \"auto_round:auto_gptq\"",
                              ", \"backend\": \"auto_round:gptq:exllamav2\""})
    EXPECT_EQ(readGolden(autoRound(asymmetric, packing), packing).values, asymmetric.values);
  for (const char *packing :
       {", \"packing_format\": \"auto_round\"", ", \"packing_format\": \"auto_round:gptqmodel\""}) {
    Golden plain = second;
    plain.replace(", \"checkpoint_format\": \"gptq_v2\"", "");
    EXPECT_EQ(readGolden(autoRound(plain, packing), packing).values, second.values);
  }
  EXPECT_EQ(codeOf(autoRound(asymmetric, ", \"packing_format\": \"auto_round:fp8_static\"")),
            "E0473");
  Golden awq = GoldenFile().read().at("awq-g128");
  awq.replace("\"quant_method\": \"awq\"", "\"quant_method\": \"intel/auto-round\", "
                                           "\"packing_format\": \"auto_round:auto_awq\"");
  EXPECT_EQ(readGolden(awq).values, awq.values);
}

TEST(Gptq, ModulesWithSettingsOfTheirOwn) {
  Golden golden = GoldenFile().read().at("gptq-4-g128");
  const Golden wide = GoldenFile().read().at("gptq-8-g128");
  for (StoredTensor tensor : wide.tensors) {
    tensor.name.replace(0, 1, "v");
    golden.tensors.push_back(tensor);
  }
  EXPECT_EQ(codeOf(golden), "E0477");
  addKey(golden, R"("extra_config": {"v": {"bits": 8}})");
  EXPECT_EQ(readGolden(golden).values, golden.values);
  golden.matrix = "v.weight";
  EXPECT_EQ(readGolden(golden).values, wide.values);
}

//===----------------------------------------------------------------------===//
// Groups that do not divide a row
//===----------------------------------------------------------------------===//

/// Returns a compressed-tensors file of one row of ones, whose scales 2, 3, 4, … belong to one group each.
Golden ragged(const std::string &format, int bits, const std::string &groups, int64_t k,
              int64_t columns) {
  Golden golden;
  golden.config = R"({"quant_method": "compressed-tensors", "format": ")" + format +
                  R"(", "config_groups": {)" + groups + "}}";
  golden.matrix = "w.weight";
  std::vector<float> scales;
  for (int64_t g = 0; g < columns; ++g)
    scales.push_back(float(g + 2));
  golden.tensors.push_back({"w.weight_scale", "F32", {1, columns}, bytesOf(scales)});
  if (format == "int-quantized") {
    golden.tensors.push_back({"w.weight", "I8", {1, k}, std::string(size_t(k), 1)});
    return golden;
  }
  const int64_t inWord = 32 / bits, words = (k + inWord - 1) / inWord;
  const std::string ones =
      filled(std::string(size_t(4 * words), '\0'), bits, (1u << (bits - 1)) + 1);
  golden.tensors.push_back({"w.weight_packed", "I32", {1, words}, ones});
  golden.tensors.push_back({"w.weight_shape", "I64", {2}, bytesOf(std::vector<int64_t>{1, k})});
  return golden;
}

std::string group(const std::string &name, int bits, const std::string &more) {
  return '"' + name + R"(": {"targets": ["Linear"], "weights": {"type": "int", "num_bits": )" +
         std::to_string(bits) + more + "}}";
}

TEST(Groups, TheConfigurationDecidesTheirSize) {
  for (const char *format : {"pack-quantized", "int-quantized"})
    for (int bits : {4, 8})
      for (int64_t size : {32, 64, 96, 128})
        for (int64_t k : {32, 40, 96, 160, 192, 250, 256}) {
          if (bits == 4 && std::string(format) == "int-quantized")
            continue;
          const std::string said =
              R"(, "strategy": "group", "group_size": )" + std::to_string(size);
          const int64_t columns = (k + size - 1) / size;
          const std::string what = std::string(format) + " " + std::to_string(bits) + " " +
                                   std::to_string(size) + " " + std::to_string(k);
          const Golden golden = ragged(format, bits, group("group_0", bits, said), k, columns);
          const std::vector<float> values = readGolden(golden, what).values;
          ASSERT_EQ(int64_t(values.size()), k) << what;
          for (int64_t i = 0; i < k; ++i)
            ASSERT_EQ(values[size_t(i)], float(i / size + 2)) << what << ", value " << i;
          const Error error =
              errorOf(ragged(format, bits, group("group_0", bits, said), k, columns + 1));
          EXPECT_EQ(error.code, "E0477") << what;
          EXPECT_HAS(error.why, "groups of " + std::to_string(size));
        }
}

TEST(Groups, SeveralOfOneConfiguration) {
  const std::string channel = group("group_0", 4, R"(, "strategy": "channel")"),
                    of64 = group("group_1", 4, R"(, "strategy": "group", "group_size": 64)"),
                    of96 = group("group_2", 4, R"(, "strategy": "group", "group_size": 96)"),
                    of128 = group("group_3", 4, R"(, "strategy": "group", "group_size": 128)");
  const auto scalesOf = [](const Golden &golden) { return readGolden(golden).values; };
  EXPECT_EQ(scalesOf(ragged("pack-quantized", 4, channel + "," + of64 + "," + of128, 192, 2))[127],
            2);
  EXPECT_EQ(scalesOf(ragged("pack-quantized", 4, channel + "," + of64 + "," + of128, 192, 3))[127],
            3);
  EXPECT_EQ(scalesOf(ragged("pack-quantized", 4, channel + "," + of64 + "," + of128, 192, 1))[127],
            2);
  const Error both = errorOf(ragged("pack-quantized", 4, of96 + "," + of128, 192, 2));
  EXPECT_EQ(both.code, "E0477");
  EXPECT_HAS(both.what, "match several groups");
  // Without a strategy, compressed-tensors' default applies, which follows group_size.
  EXPECT_EQ(
      scalesOf(ragged("pack-quantized", 4, group("g", 4, R"(, "group_size": 128)"), 192, 2))[127],
      2);
  EXPECT_EQ(codeOf(ragged("pack-quantized", 4, group("g", 4, R"(, "strategy": "group")"), 192, 2)),
            "E0473");
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// The scales of each method and the types in which they may be stored.
struct OfScales {
  const char *golden, *tensor;
};
constexpr OfScales kScales[] = {
    {"gptq-4-g128", "w.scales"},
    {"gptq-2-g64", "w.scales"},
    {"gptq-8-asymmetric", "w.scales"},
    {"awq-g32", "w.scales"},
    {"ct-pack-4-group", "w.weight_scale"},
    {"ct-pack-4-asymmetric", "w.weight_scale"},
    {"ct-int-channel", "w.weight_scale"},
    {"ct-naive-tensor", "w.weight_scale"},
    {"ct-mxfp4", "w.weight_scale"},
    {"ct-mxfp8", "w.weight_scale"},
    {"ct-nvfp4", "w.weight_scale"},
    {"ct-nvfp4", "w.weight_global_scale"},
    {"modelopt-nvfp4", "w.weight_scale"},
    {"modelopt-nvfp4", "w.weight_scale_2"},
    {"modelopt-mxfp8", "w.weight_scale"},
    {"modelopt-fp8", "w.weight_scale"},
    {"modelopt-fp8-block", "w.weight_scale"},
    {"modelopt-fp8-channel", "w.weight_scale"},
    {"fp8-stack-block", "e.gate_up_proj_scale_inv"},
    {"fp8-stack", "e.gate_up_proj_scale_inv"},
    {"gpt-oss-mxfp4", "e.gate_up_proj_scales"},
    {"bitsandbytes-int8", "w.SCB"},
    {"bitsandbytes-nf4", "w.weight.absmax"},
    {"mlx-4-g64", "w.scales"},
    {"mlx-3", "w.scales"},
    {"mlx-8", "w.scales"},
    {"mlx-mxfp4", "w.scales"},
    {"mlx-mxfp8", "w.scales"},
    {"mlx-nvfp4", "w.scales"},
};

/// Returns powers of two that every type holds, stored as `dtype`.
std::string powers(const std::string &dtype, int64_t count) {
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    const float power = std::ldexp(1.0f, int(i % 5) - 4);
    const uint32_t bits = std::bit_cast<uint32_t>(power);
    if (dtype == "F32")
      bytes += bytesOf(std::vector{power});
    else if (dtype == "F16")
      bytes += bytesOf(std::vector{std::bit_cast<uint16_t>(static_cast<_Float16>(power))});
    else if (dtype == "BF16")
      bytes += bytesOf(std::vector{static_cast<uint16_t>(bits >> 16)});
    else // F8_E8M0
      bytes += static_cast<char>(bits >> 23);
  }
  return bytes;
}

TEST(Scales, OfEveryTypeInEveryFormat) {
  const std::map<std::string, Golden> goldens = GoldenFile().read();
  for (const OfScales &each : kScales) {
    std::vector<float> wanted;
    for (const char *dtype : {"F32", "F16", "BF16", "F8_E8M0"}) {
      const std::string what = std::string(each.golden) + " " + each.tensor + " " + dtype;
      Golden golden = goldens.at(each.golden);
      StoredTensor &scales = golden[each.tensor];
      int64_t count = 1;
      for (int64_t extent : scales.shape)
        count *= extent;
      scales.dtype = dtype, scales.bytes = powers(dtype, count);
      const std::vector<float> values = readGolden(golden, what).values;
      EXPECT_TRUE(wanted.empty() || values == wanted) << what;
      wanted = values;
    }
    EXPECT_TRUE(std::ranges::any_of(wanted, [](float value) { return value != 0; })) << each.golden;
    Golden typed = goldens.at(each.golden);
    StoredTensor &scales = typed[each.tensor];
    const size_t count = scales.bytes.size();
    scales.dtype = "BOOL", scales.shape = {int64_t(count)};
    const Error error = errorOf(typed);
    EXPECT_HAS(error.format(), "BOOL") << "it is there, as another type";
    EXPECT_HAS(error.format(), each.tensor);
  }
}

/// Scales of MXFP4 and NVFP4 that are stored as floats must be representable in the format.
TEST(Scales, ThatTheFormatDoesNotHold) {
  for (const auto &[name, number] : {std::pair{"ct-mxfp4", 0.75f},
                                     {"ct-mxfp4", -1.0f},
                                     {"ct-nvfp4", 0.7f},
                                     {"ct-nvfp4", 1000.0f}}) {
    Golden golden = GoldenFile().read().at(name);
    StoredTensor &scales = golden["w.weight_scale"];
    std::vector<float> numbers(scales.bytes.size(), 1.0f);
    numbers[2] = number;
    scales.dtype = "F32", scales.bytes = bytesOf(numbers);
    const Error error = errorOf(golden);
    EXPECT_EQ(error.code, "E0478") << name;
    EXPECT_HAS(error.why, "number 2 of");
  }
}

/// Where all codes are zero, a scale may be any number from 0 to the smallest accepted scale, such as 0, a subnormal or
/// a tiny number.
TEST(Scales, OfZeroOverCodesOfZero) {
  for (const auto &[name, codes] : {std::pair{"modelopt-fp8", "w.weight"},
                                    {"modelopt-fp8-block", "w.weight"},
                                    {"modelopt-fp8-channel", "w.weight"},
                                    {"fp8-stack-block", "e.gate_up_proj"},
                                    {"fp8-stack", "e.gate_up_proj"},
                                    {"ct-mxfp4", "w.weight_packed"},
                                    {"ct-mxfp8", "w.weight"},
                                    {"mlx-mxfp4", "w.weight"},
                                    {"gpt-oss-mxfp4", "e.gate_up_proj_blocks"},
                                    {"modelopt-nvfp4", "w.weight"},
                                    {"ct-nvfp4", "w.weight_packed"}})
    for (float scale : {0.0f, 1e-45f, 0x1p-130f}) {
      Golden golden = GoldenFile().read().at(name);
      golden[codes].bytes.assign(golden[codes].bytes.size(), '\0');
      golden[codes].bytes[0] = static_cast<char>(std::string(codes).ends_with("weight_packed") ||
                                                         std::string(name) == "gpt-oss-mxfp4"
                                                     ? 0x88
                                                     : 0); // -0
      const auto *of = std::ranges::find_if(
          kScales, [&](const OfScales &each) { return std::string(each.golden) == name; });
      StoredTensor &scales = golden[of->tensor];
      int64_t count = 1;
      for (int64_t extent : scales.shape)
        count *= extent;
      scales.dtype = "F32", scales.bytes = bytesOf(std::vector<float>(size_t(count), scale));
      for (float value : readGolden(golden, name).values)
        ASSERT_EQ(value, 0) << name << " under " << scale;
      if (golden.matrix != "w.weight" || std::string(name).starts_with("mlx"))
        continue;
      golden[codes].bytes.back() = 0x22; // a code that is not zero
      const std::string code = codeOf(golden);
      const bool isNumber = scale == 0 && std::string(name).ends_with("nvfp4"); // E4M3 has a zero
      EXPECT_TRUE(code == "E0472" || code == "E0478" || (isNumber && code == "opened"))
          << name << " under " << scale << ": " << code;
    }
}

TEST(Scales, OfZeroInFormatsOfIntegers) {
  for (const auto &[name, codes] : {std::pair{"gptq-4-g128", "w.scales"},
                                    {"gptq-8-asymmetric", "w.scales"},
                                    {"awq-g128", "w.scales"},
                                    {"ct-pack-4-group", "w.weight_scale"},
                                    {"ct-int-channel", "w.weight_scale"},
                                    {"mlx-4-g64", "w.scales"},
                                    {"bitsandbytes-int8", "w.SCB"},
                                    {"bitsandbytes-nf4", "w.weight.absmax"}})
    for (float scale : {0.0f, 1e-45f, 0x1p-130f}) {
      Golden golden = GoldenFile().read().at(name);
      StoredTensor &scales = golden[codes];
      int64_t count = 1;
      for (int64_t extent : scales.shape)
        count *= extent;
      scales.dtype = "F32", scales.bytes = bytesOf(std::vector<float>(size_t(count), scale));
      TemporaryFolder folder;
      Opened opened = open(golden, folder);
      ASSERT_TRUE(opened) << name << opened.error().format();
      EXPECT_TRUE(checkFinite(*(*opened)->find("w.weight"))) << name;
    }
}

/// compressed-tensors writes an infinite divisor where a whole matrix is zero.
TEST(Scales, OfAMatrixOfZeros) {
  for (float by : {std::numeric_limits<float>::infinity(), 0.0f, 1e38f}) {
    Golden golden = GoldenFile().read().at("ct-nvfp4");
    golden["w.weight_global_scale"].bytes = bytesOf(std::vector{by});
    EXPECT_EQ(codeOf(golden), "E0478") << by;
    golden["w.weight_packed"].bytes.assign(golden["w.weight_packed"].bytes.size(), '\0');
    for (float value : readGolden(golden).values)
      ASSERT_EQ(value, 0) << by;
  }
}

} // namespace
