//===- WriteFuzzSeeds.cpp - fuzz-seeds FOLDER -----------------------------===//
//
// Writes the seeds of the import fuzzers, FOLDER/gguf-fuzzer and so on: the valid
// checkpoints, and one bad kind of each code (small ones). They are committed under
// tests/fuzz/corpus; run this again when a kind is added.
//===----------------------------------------------------------------------===//
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/GgufImage.h"
#include "tests/checkpoints/SafetensorsImage.h"

#include <cstdio>

using namespace ingot::test;

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz-seeds FOLDER\n");
    return 2;
  }
  constexpr size_t kLargest = 2000;
  CheckpointFiles gguf, safetensors, config;
  gguf.files["valid"] = GgufImage::valid().bytes();
  safetensors.files["valid"] = SafetensorsImage::valid().bytes();
  safetensors.files["valid-index"] = validShardedFolder().files["model.safetensors.index.json"];
  for (const auto &[name, content] : validSplitGguf().files)
    gguf.files["valid-" + name.substr(0, 7)] = content;
  SafetensorsImage wrapped; // of an odd size, which makes a wrapper of it there
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
  return 0;
}
