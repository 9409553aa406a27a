//===- WriteFuzzSeeds.cpp - fuzz-seeds FOLDER -----------------------------===//
//
// Writes the seeds of the import fuzzers, FOLDER/gguf-fuzzer and so on: the valid checkpoints and,
// for each code, one small bad checkpoint. The seeds are committed under tests/fuzz/corpus; rerun
// this program when a kind is added.
//===----------------------------------------------------------------------===//
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/GgufImage.h"
#include "tests/checkpoints/SafetensorsImage.h"

#include <cstdio>
#include <tuple>

using namespace ingot::test;

namespace {

/// Returns a GGUF with tensors in blocks of two bits and of one bit.
std::string ggufOfFewBits() {
  GgufImage image = GgufImage::valid();
  image.tensors = {{"a", {128, 2}, 42, 0, {}}, {"b", {128, 2}, 41, 96, {}}};
  image.data = std::string(96 + 36, '\x35');
  return image.bytes();
}

/// Returns a matrix of a few words, all zeros, and the configuration of its quantisation method, in one file
/// (QuantizedFuzzer.cpp).
std::string quantized(
    const std::string &config,
    std::initializer_list<std::tuple<const char *, const char *, std::vector<int64_t>, size_t>>
        tensors) {
  SafetensorsImage image;
  for (const auto &[name, dtype, shape, bytes] : tensors)
    if (image.add(name, dtype, shape, bytes); std::string_view(name).ends_with("weight_shape"))
      image.data.replace(image.data.size() - 16, 16,
                         std::string("\2\0\0\0\0\0\0\0\36\0\0\0\0\0\0\0", 16));
  return R"({"architectures": ["A"], "quantization_config": {"quant_method": )" + config + "}}\n" +
         image.bytes();
}

/// Returns 4-bit numbers whose magnitudes (absmax) are quantised too.
std::string bitsandbytesSeed() {
  const std::string state =
      R"({"quant_type": "fp4", "blocksize": 64, "shape": [2, 64], "nested_blocksize": 256, "nested_offset": 0.5})";
  const float numbers[] = {0, 0.0625f, 8, 12, 4, 6, 2, 3, 0, -0.0625f, -8, -12, -4, -6, -2, -3};
  SafetensorsImage image;
  const auto put = [&](const char *name, const char *dtype, std::vector<int64_t> shape,
                       std::string bytes) {
    image.add(name, dtype, std::move(shape), bytes.size());
    image.data.replace(image.data.size() - bytes.size(), bytes.size(), bytes);
  };
  std::string map;
  for (float number : numbers) {
    number /= 12;
    map.append(reinterpret_cast<const char *>(&number), sizeof number);
  }
  put("w.weight", "U8", {64, 1}, std::string(64, '\x17'));
  put("w.weight.quant_map", "F32", {16}, map);
  put("w.weight.absmax", "U8", {2}, std::string(2, '\1'));
  put("w.weight.nested_absmax", "F32", {1}, std::string(4, '\0'));
  put("w.weight.nested_quant_map", "F32", {256}, std::string(1024, '\0'));
  put("w.weight.quant_state.bitsandbytes__fp4", "U8", {int64_t(state.size())}, state);
  return R"({"architectures": ["A"], "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true}})"
         "\n" +
         image.bytes();
}

std::string mlxSeed() {
  SafetensorsImage image;
  image.add("w.weight", "U32", {2, 3}, 24);
  image.add("w.scales", "F16", {2, 1}, 4);
  image.add("w.biases", "F16", {2, 1}, 4);
  return R"({"architectures": ["A"], "quantization": {"bits": 3, "group_size": 32}})"
         "\n" +
         image.bytes();
}

std::string mlxFloatSeed() {
  SafetensorsImage image;
  image.add("w.weight", "U32", {2, 8}, 64);
  image.add("w.scales", "U8", {2, 1}, 2);
  return R"({"architectures": ["A"], "quantization": {"bits": 8, "group_size": 32, "mode": "mxfp8"}})"
         "\n" +
         image.bytes();
}

CheckpointFiles quantizedSeeds() {
  CheckpointFiles seeds;
  seeds.files["gptq"] =
      quantized(R"("gptq", "bits": 4, "group_size": 32)", {{"w.qweight", "I32", {4, 8}, 128},
                                                           {"w.qzeros", "I32", {1, 1}, 4},
                                                           {"w.scales", "F16", {1, 8}, 16},
                                                           {"w.g_idx", "I32", {32}, 128}});
  seeds.files["gptq-3-bits"] =
      quantized(R"("gptq", "bits": 3, "group_size": -1, "checkpoint_format": "gptq_v2")",
                {{"w.qweight", "I32", {3, 32}, 384},
                 {"w.qzeros", "I32", {1, 3}, 12},
                 {"w.scales", "F16", {1, 32}, 64}});
  seeds.files["awq"] = quantized(R"("awq", "bits": 4, "group_size": 32, "version": "gemm")",
                                 {{"w.qweight", "I32", {32, 1}, 128},
                                  {"w.qzeros", "I32", {1, 1}, 4},
                                  {"w.scales", "F16", {1, 8}, 16}});
  const std::string
      groups = R"(, "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": )",
      integers = R"(, "type": "int", "strategy": "channel", "symmetric": true}}})";
  seeds.files["ct-pack"] =
      quantized(R"("compressed-tensors", "format": "pack-quantized")" + groups + "4" + integers,
                {{"w.weight_packed", "I32", {2, 4}, 32},
                 {"w.weight_shape", "I64", {2}, 16},
                 {"w.weight_scale", "BF16", {2, 1}, 4}});
  seeds.files["ct-int"] =
      quantized(R"("compressed-tensors", "format": "int-quantized")" + groups + "8" + integers,
                {{"w.weight", "I8", {2, 8}, 16}, {"w.weight_scale", "F32", {2, 1}, 8}});
  seeds.files["mxfp4"] = quantized(
      R"("mxfp4")", {{"e_blocks", "U8", {2, 2, 1, 16}, 64}, {"e_scales", "U8", {2, 2, 1}, 4}});
  seeds.files["bitsandbytes"] =
      quantized(R"("bitsandbytes", "load_in_8bit": true)",
                {{"w.weight", "I8", {2, 8}, 16}, {"w.SCB", "F32", {2}, 8}});
  seeds.files["gptq-act-order"] =
      quantized(R"("gptq", "bits": 4, "group_size": 16, "desc_act": true)",
                {{"w.qweight", "I32", {4, 8}, 128},
                 {"w.qzeros", "I32", {2, 1}, 8},
                 {"w.scales", "F16", {2, 8}, 32},
                 {"w.g_idx", "I32", {32}, 128}});
  seeds.files["ct-nvfp4"] = quantized(
      R"("compressed-tensors", "format": "nvfp4-pack-quantized", "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float"}}})",
      {{"w.weight_packed", "U8", {2, 8}, 16},
       {"w.weight_scale", "F8_E4M3", {2, 1}, 2},
       {"w.weight_global_scale", "F32", {1}, 4}});
  seeds.files["modelopt-nvfp4"] =
      quantized(R"("modelopt", "quant_algo": "NVFP4")", {{"w.weight", "U8", {2, 8}, 16},
                                                         {"w.weight_scale", "F8_E4M3", {2, 1}, 2},
                                                         {"w.weight_scale_2", "F32", {}, 4}});
  seeds.files["modelopt-mixed"] = quantized(R"("modelopt", "quant_algo": "MIXED_PRECISION")",
                                            {{"w.weight", "F8_E4M3", {2, 32}, 64},
                                             {"w.weight_scale", "U8", {2, 1}, 2},
                                             {"v.weight", "F8_E4M3", {2, 8}, 16},
                                             {"v.weight_scale", "F32", {2}, 8}});
  seeds.files["ct-mxfp8"] = quantized(
      R"("compressed-tensors", "format": "mxfp8-quantized", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "group"}}})",
      {{"w.weight", "F8_E4M3", {2, 32}, 64}, {"w.weight_scale", "U8", {2, 1}, 2}});
  seeds.files["bitsandbytes-nf4"] = bitsandbytesSeed();
  seeds.files["mlx"] = mlxSeed();
  seeds.files["mlx-mxfp8"] = mlxFloatSeed();
  return seeds;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz-seeds FOLDER\n");
    return 2;
  }
  constexpr size_t kLargest = 2000;
  CheckpointFiles gguf, safetensors, config;
  gguf.files["valid"] = GgufImage::valid().bytes();
  gguf.files["valid-q2-0-q1-0"] = ggufOfFewBits();
  safetensors.files["valid"] = SafetensorsImage::valid().bytes();
  safetensors.files["valid-index"] = validShardedFolder().files["model.safetensors.index.json"];
  for (const auto &[name, content] : validSplitGguf().files)
    gguf.files["valid-" + name.substr(0, 7)] = content;
  SafetensorsImage wrapped; // the fuzzer wraps files of an odd size
  wrapped.add("language_model.model.norm.weight", "F32", {2}, 8);
  wrapped.add("vision_tower.a", "F4", {3, 2}, 3);
  safetensors.files["valid-wrapper"] = wrapped.bytes();
  config.files["valid"] = validConfig();
  config.files["valid-wrapper"] =
      R"({"architectures": ["W"], "eos_token_id": 1, "tie_word_embeddings": true, "text_config": {)"
      R"("model_type": "llama", "tie_word_embeddings": false, "rope_scaling": {"type": "mrope", )"
      R"("mrope_section": [1, 2]}}, "vision_config": {"depth": 1}, "quantization_config": {"a": 1}})";
  config.files["valid-tokenizer"] = validFolder().files["tokenizer_config.json"];
  for (CheckpointFiles &bad : badGgufFiles())
    for (auto &[name, content] : bad.files)
      if (content.size() < kLargest && !content.empty())
        gguf.files[bad.name] = content;
  for (CheckpointFiles &bad : badSafetensorsFiles())
    for (const auto &[name, target] :
         {std::pair<const char *, CheckpointFiles *>{"model.safetensors", &safetensors},
          {"model.safetensors.index.json", &safetensors},
          {"config.json", &config},
          {"tokenizer_config.json", &config}}) {
      const std::string &content = bad.files[name];
      bool usual =
          content == validFolder().files[name] || content == validShardedFolder().files[name];
      if (content.size() < kLargest && !content.empty() && !usual)
        target->files[bad.name] = content;
    }
  const std::string folder = argv[1];
  writeCheckpoint(gguf, folder + "/gguf-fuzzer");
  writeCheckpoint(safetensors, folder + "/safetensors-fuzzer");
  writeCheckpoint(config, folder + "/config-fuzzer");
  writeCheckpoint(quantizedSeeds(), folder + "/quantized-fuzzer");
  return 0;
}
