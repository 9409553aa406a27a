//===- TinyCheckpointsTest.cpp - Import and interpreter against HF --------===//
//
// Random checkpoints of a few thousand weights (tests/checkpoints/tiny/generate.py) cover features
// that are rare in real ones: biases, odd head sizes, llama3 and linear rope scaling, windows
// shorter than the prompt, soft-caps, untied heads, shards, all formats.
//===----------------------------------------------------------------------===//
#include "tests/models/TinyCheckpoints.h"
#include "tests/SourceDir.h"

#include "compiler/import/OpenCheckpoint.h"
#include "compiler/reference/Interpreter.h"
#include "models/Family.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace ingot;
using namespace ingot::reference;

static std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Reads NumPy's format, version 1: a preamble of 10 bytes, whose last two are the header's length.
static std::vector<float> readNpy(const std::string &path) {
  std::string bytes = readFile(path);
  if (bytes.size() < 10)
    return {};
  size_t begin =
      10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  std::vector<float> values((bytes.size() - begin) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(float));
  return values;
}

tests::TinyCheckpoint ingot::tests::tinyCheckpoint(const std::string &name) {
  std::string folder = test::sourceDir() + "/tests/checkpoints/tiny/" + name;
  TinyCheckpoint tiny;
  tiny.model = std::filesystem::exists(folder + "/model.gguf") ? folder + "/model.gguf" : folder;
  std::string ids = readFile(folder + "/ids.json");
  std::ranges::replace_if(ids, [](char c) { return c == '[' || c == ',' || c == ']'; }, ' ');
  std::istringstream numbers(ids);
  tiny.ids.assign(std::istream_iterator<int32_t>(numbers), {});
  tiny.expected.values = readNpy(folder + "/expected.npy");
  tiny.expected.rows = static_cast<int64_t>(tiny.ids.size());
  tiny.expected.columns = static_cast<int64_t>(tiny.expected.values.size() / tiny.ids.size());
  return tiny;
}

namespace {

class TinyCheckpoints : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    tiny = tests::tinyCheckpoint(GetParam());
    auto opened = import::openCheckpoint(tiny.model);
    ASSERT_TRUE(opened) << opened.error().format();
    checkpoint = *opened;
    Error why;
    auto imported = models::importModel(context, *checkpoint, why);
    ASSERT_TRUE(mlir::succeeded(imported)) << why.format();
    module = std::move(*imported);
    weights = std::make_unique<CheckpointWeights>(*checkpoint);
    auto created = Interpreter::create(*module, *weights);
    ASSERT_TRUE(created) << created.error().format();
    interpreter = std::move(*created);
  }

  /// Returns the logits of all positions, with the prompt cut into chunks.
  Matrix run(size_t chunk) {
    KvState kv;
    Matrix all(tiny.expected.rows, tiny.expected.columns);
    for (size_t begin = 0; begin < tiny.ids.size(); begin += chunk) {
      size_t end = std::min(begin + chunk, tiny.ids.size());
      Step step{{tiny.ids.begin() + begin, tiny.ids.begin() + end}, {}, {}, {}};
      for (size_t t = begin; t < end; ++t)
        step.positions.push_back(static_cast<int64_t>(t));
      auto logits = interpreter->step(step, kv);
      if (!logits) {
        ADD_FAILURE() << logits.error().format();
        return all;
      }
      std::ranges::copy(logits->values, all.row(static_cast<int64_t>(begin)).begin());
    }
    return all;
  }

  tests::TinyCheckpoint tiny;
  mlir::MLIRContext context;
  std::shared_ptr<import::Checkpoint> checkpoint;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<CheckpointWeights> weights;
  std::unique_ptr<Interpreter> interpreter;
};

} // namespace

TEST_P(TinyCheckpoints, LogitsAreHuggingFaces) {
  ASSERT_GT(tiny.expected.values.size(), 0u);
  Matrix logits = run(tiny.ids.size());
  double largest = 0;
  for (size_t i = 0; i < logits.values.size(); ++i)
    largest = std::max<double>(largest, std::abs(logits.values[i] - tiny.expected.values[i]));
  EXPECT_LE(largest, 1e-4);
  RecordProperty("max_abs_difference", std::to_string(largest));
}

TEST_P(TinyCheckpoints, ChunksChangeNoBit) {
  Matrix whole = run(tiny.ids.size());
  for (size_t chunk : {1, 7})
    EXPECT_EQ(run(chunk).values, whole.values) << "chunks of " << chunk;
}

std::vector<std::string> ingot::tests::tinyNames() {
  std::vector<std::string> names;
  for (const auto &entry :
       std::filesystem::directory_iterator(test::sourceDir() + "/tests/checkpoints/tiny"))
    if (std::filesystem::exists(entry.path() / "expected.npy"))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, TinyCheckpoints, ::testing::ValuesIn(tests::tinyNames()),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });
