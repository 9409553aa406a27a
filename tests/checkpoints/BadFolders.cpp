//===- BadFolders.cpp - Shards, links, configurations ---------------------===//
#include "tests/checkpoints/BadFolders.h"

#include <functional>

namespace ingot::test {

namespace {

constexpr char kIndex[] = "model.safetensors.index.json";
constexpr char kSecond[] = "model-00002-of-00002.safetensors";

using Change = std::function<void(CheckpointFiles &)>;

CheckpointFiles folder(const char *code, const char *name, const Change &change) {
  CheckpointFiles bad = validFolder();
  change(bad);
  bad.name = name;
  bad.code = code;
  return bad;
}

CheckpointFiles sharded(const char *code, const char *name, const Change &change) {
  CheckpointFiles bad = validShardedFolder();
  change(bad);
  bad.name = name;
  bad.code = code;
  return bad;
}

CheckpointFiles config(const char *code, const char *name, const std::string &text) {
  return folder(code, name, [&](CheckpointFiles &bad) { bad.files["config.json"] = text; });
}

/// Returns the valid index with the shard of b and c renamed.
std::string indexNaming(const std::string &shard) {
  return R"({"weight_map": {"a": "model-00001-of-00002.safetensors", "b": ")" + shard +
         R"(", "c": ")" + shard + "\"}}";
}

void addConfigs(std::vector<CheckpointFiles> &bad) {
  bad.push_back(
      folder("E0292", "no-config", [](CheckpointFiles &bad) { bad.files.erase("config.json"); }));
  bad.push_back(config("E0225", "config-no-architecture", "{\"hidden_size\": 8}"));
  bad.push_back(config("E0226", "config-odd-architecture", "{\"architectures\": [\"A\", \"B\"]}"));
  bad.push_back(config("E0227", "config-integer-too-large",
                       "{\"architectures\": [\"A\"], \"vocab_size\": 18446744073709551615}"));
  bad.push_back(
      config("E0238", "config-key-too-long",
             "{\"" + std::string(1000, 'k') + "\": {\"" + std::string(1000, 'k') + "\": 1}}"));
  std::string many = "{\"x\": [null";
  for (int i = 0; i < 65600; ++i)
    many += ",1";
  bad.push_back(config("E0229", "config-too-many-keys", many + "]}"));
  bad.push_back(folder("E0289", "template-too-large", [](CheckpointFiles &bad) {
    bad.files["chat_template.jinja"] = std::string((1 << 20) + 1, ' ');
  }));
  bad.push_back(folder("E0290", "template-odd", [](CheckpointFiles &bad) {
    bad.files["tokenizer_config.json"] =
        R"({"chat_template": [{"name": "a", "template": "x"}, {"name": "b", "template": 1}]})";
  }));
}

void addShards(std::vector<CheckpointFiles> &bad) {
  bad.push_back(
      sharded("E0200", "shard-missing", [](CheckpointFiles &bad) { bad.files.erase(kSecond); }));
  bad.push_back(sharded("E0201", "shard-pipe", [](CheckpointFiles &bad) {
    bad.files.erase(kSecond);
    bad.pipes = {kSecond};
  }));
  bad.push_back(sharded("E0285", "shard-above", [](CheckpointFiles &bad) {
    bad.files[kIndex] = indexNaming("../model-00002-of-00002.safetensors");
  }));
  bad.push_back(sharded("E0286", "shard-link-outside", [](CheckpointFiles &bad) {
    bad.files.erase(kSecond);
    bad.links[kSecond] = "/dev/zero";
  }));
  bad.push_back(sharded("E0287", "index-lists-more", [](CheckpointFiles &bad) {
    std::string &index = bad.files[kIndex];
    index.insert(index.find("\"b\""), "\"d\": \"model-00002-of-00002.safetensors\", ");
  }));
  bad.push_back(sharded("E0288", "index-lists-less", [](CheckpointFiles &bad) {
    std::string &index = bad.files[kIndex];
    index.erase(index.find("\"b\""), index.find("\"c\"") - index.find("\"b\""));
  }));
  std::string many = "{\"weight_map\": {\"t\": \"s.safetensors\"";
  for (int i = 0; i < 65536; ++i)
    many += ",\"" + std::to_string(i) + "\":\"s.safetensors\"";
  bad.push_back(sharded("E0228", "index-too-many-tensors",
                        [&](CheckpointFiles &bad) { bad.files[kIndex] = many + "}}"; }));
}

} // namespace

void addBadFolders(std::vector<CheckpointFiles> &bad) {
  addConfigs(bad);
  addShards(bad);
  bad.push_back(folder("E0205", "no-weights", [](CheckpointFiles &bad) {
    bad.files.erase("model.safetensors");
    bad.files["pytorch_model.bin"] = "PK";
  }));
  bad.push_back(folder("E0842", "mistral-native", [](CheckpointFiles &bad) {
    bad.files = {{"params.json", R"({"dim": 8})"},
                 {"consolidated.safetensors", bad.files["model.safetensors"]}};
  }));
  bad.push_back(folder("E0843", "adapter", [](CheckpointFiles &bad) {
    bad.files = {{"adapter_config.json", R"({"peft_type": "LORA"})"},
                 {"adapter_model.safetensors", bad.files["model.safetensors"]}};
  }));
  bad.push_back(folder("E0844", "cache-of-another-revision", [](CheckpointFiles &bad) {
    CheckpointFiles cache;
    for (const auto &[name, content] : bad.files)
      cache.files["snapshots/abc123/" + name] = content;
    cache.files["refs/main"] = "def456";
    bad = cache;
  }));
  bad.push_back(folder("E0291", "two-models", [](CheckpointFiles &bad) {
    for (const auto &[name, content] : validShardedFolder().files)
      bad.files.try_emplace(name, content);
    bad.files["model-00001-of-00002.safetensors"].back() ^= 1; // identical except for one bit
  }));
}

} // namespace ingot::test
