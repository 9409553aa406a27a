//===- QuantizedGolden.h - tests/checkpoints/quantized_golden.bin ----------===//
//
// Matrices as quantised checkpoints store them, with the numbers that they represent (written by
// make_quantized_golden.py there).
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/OpenCheckpoint.h"
#include "compiler/import/checkpoint/Checkpoint.h"
#include "tests/SourceDir.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/SafetensorsImage.h"
#include "tests/compiler/import/TemporaryFolder.h"

#include <fstream>
#include <gtest/gtest.h>
#include <map>

namespace ingot::test {

using namespace ingot::import;

using Opened = Result<std::shared_ptr<Checkpoint>>;

struct StoredTensor {
  std::string name, dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};

struct Golden {
  std::string config, matrix;
  std::vector<StoredTensor> tensors;
  std::vector<float> values;

  StoredTensor &operator[](const std::string &name) {
    for (StoredTensor &tensor : tensors)
      if (tensor.name == name)
        return tensor;
    ADD_FAILURE() << "no tensor " << name;
    return tensors.front();
  }
  void replace(const std::string &what, const std::string &by) {
    const size_t at = config.find(what);
    ASSERT_NE(at, std::string::npos) << what << " in " << config;
    config.replace(at, what.size(), by);
  }
};

class GoldenFile {
public:
  GoldenFile()
      : file(test::sourceDir() + "/tests/checkpoints/quantized_golden.bin", std::ios::binary) {}

  std::map<std::string, Golden> read() {
    std::map<std::string, Golden> goldens;
    for (std::string name = text(); file; name = text()) {
      Golden &golden = goldens[name];
      golden.config = text();
      golden.tensors.resize(number<uint32_t>());
      for (StoredTensor &tensor : golden.tensors) {
        tensor.name = text(), tensor.dtype = text();
        tensor.shape.resize(number<uint32_t>());
        for (int64_t &extent : tensor.shape)
          extent = static_cast<int64_t>(number<uint64_t>());
        tensor.bytes = text();
      }
      golden.matrix = text();
      golden.values.resize(number<uint64_t>());
      file.read(reinterpret_cast<char *>(golden.values.data()),
                static_cast<std::streamsize>(golden.values.size() * sizeof(float)));
    }
    return goldens;
  }

private:
  template <typename T> T number() {
    T value{};
    file.read(reinterpret_cast<char *>(&value), sizeof value);
    return value;
  }
  std::string text() {
    std::string bytes(number<uint32_t>(), '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }
  std::ifstream file;
};

/// Opens the golden matrix as a folder. `ownFile` names the file of the quantisation config if it is not
/// config.json.
inline Opened open(const Golden &golden, const TemporaryFolder &folder,
                   const char *ownFile = nullptr) {
  CheckpointFiles files = validFolder();
  SafetensorsImage image;
  for (const StoredTensor &tensor : golden.tensors) {
    image.add(tensor.name, tensor.dtype, tensor.shape, tensor.bytes.size());
    image.data.replace(image.data.size() - tensor.bytes.size(), tensor.bytes.size(), tensor.bytes);
  }
  std::string config = validConfig();
  if (ownFile)
    files.files[ownFile] = golden.config;
  else if (golden.config.find("quantization_key") != std::string::npos) // MLX
    config.insert(config.rfind('}'), ", \"quantization\": " + golden.config +
                                         ", \"quantization_config\": " + golden.config);
  else
    config.insert(config.rfind('}'), ", \"quantization_config\": " + golden.config);
  files.files["config.json"] = config;
  files.files["model.safetensors"] = image.bytes();
  return openCheckpoint(writeCheckpoint(files, folder.path("m")));
}

/// Returns the error's code, or "opened".
inline std::string codeOf(const Golden &golden) {
  TemporaryFolder folder;
  Opened opened = open(golden, folder);
  return opened ? "opened" : opened.error().code;
}

} // namespace ingot::test
