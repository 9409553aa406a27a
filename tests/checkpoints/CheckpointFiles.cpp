//===- CheckpointFiles.cpp - Writes test checkpoints to disk --------------===//
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/GgufImage.h"
#include "tests/checkpoints/SafetensorsImage.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace fs = std::filesystem;

namespace ingot::test {

static void require(bool fine, const std::string &path) {
  if (fine)
    return;
  std::fprintf(stderr, "cannot write %s\n", path.c_str());
  std::exit(1);
}

std::string writeCheckpoint(const CheckpointFiles &checkpoint, const std::string &folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto &[name, content] : checkpoint.files) {
    std::string path = folder + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream file(path, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    require(file.good(), path);
  }
  for (const auto &[name, target] : checkpoint.links) {
    fs::create_directories(fs::path(folder + "/" + name).parent_path());
    fs::create_symlink(target, folder + "/" + name);
  }
  for (const std::string &name : checkpoint.pipes)
    require(::mkfifo((folder + "/" + name).c_str(), 0600) == 0, folder + "/" + name);
  return checkpoint.open.empty() ? folder : folder + "/" + checkpoint.open;
}

std::string validConfig() {
  return R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8,
 "rope_theta": 1e4, "rope_scaling": {"rope_type": "llama3", "factor": 8.0},
 "eos_token_id": [1, 2], "tie_word_embeddings": true, "sliding_window": null,
 "layer_types": ["full_attention"], "mixed": [null, 1, {"a": "b"}]})";
}

CheckpointFiles validFolder() {
  CheckpointFiles folder{.name = "valid-folder"};
  folder.files = {{"config.json", validConfig()},
                  {"model.safetensors", SafetensorsImage::valid().bytes()},
                  {"tokenizer.json", R"({"model": {}})"},
                  {"tokenizer_config.json",
                   R"({"model_max_length": 1000000000000000019884624838656,)"
                   R"( "chat_template": "from the tokenizer"})"},
                  {"special_tokens_map.json", R"({"eos_token": "</s>"})"},
                  {"generation_config.json", R"({"eos_token_id": 2})"}};
  return folder;
}

CheckpointFiles validShardedFolder() {
  SafetensorsImage first, second;
  first.add("a", "F32", {2, 3}, 24);
  second.add("b", "BF16", {4, 2}, 16);
  second.add("c", "F16", {2}, 4);
  CheckpointFiles folder = validFolder();
  folder.name = "valid-sharded-folder";
  folder.files.erase("model.safetensors");
  folder.files["model-00001-of-00002.safetensors"] = first.bytes();
  folder.files["model-00002-of-00002.safetensors"] = second.bytes();
  folder.files["model.safetensors.index.json"] =
      R"({"metadata": {"total_size": 44}, "weight_map": {
 "a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors",
 "c": "model-00002-of-00002.safetensors"}})";
  return folder;
}

CheckpointFiles validSplitGguf(int32_t tensors) {
  GgufImage whole = GgufImage::valid(), parts[3];
  parts[0].entries = whole.entries;
  parts[1].tensors = {whole.tensors[0]};
  parts[1].data = whole.data.substr(0, 128);
  parts[2].tensors = {whole.tensors[1], whole.tensors[2]};
  for (GgufTensor &tensor : parts[2].tensors)
    tensor.offset -= 128;
  parts[2].data = whole.data.substr(128);
  CheckpointFiles split{.name = "valid-split"};
  for (uint16_t i = 0; i < 3; ++i) {
    parts[i].entries.push_back(ggufEntry("split.no", 2, little(i)));
    parts[i].entries.push_back(ggufEntry("split.count", 2, little<uint16_t>(3)));
    parts[i].entries.push_back(ggufEntry("split.tensors.count", 5, little(tensors)));
    split.files["m-0000" + std::to_string(i + 1) + "-of-00003.gguf"] = parts[i].bytes();
  }
  return split;
}

} // namespace ingot::test
