//===- Repository.h - A model repository with the test engine ----------------===//
//
// Also provides libingot's own answer to a request, for comparison with the backend's. Like the
// backend, this header and its users include only ingot.h and TritonApi.h.
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/deploy/triton/TritonHost.h"
#include "tests/embed/TestEngine.h"

#include <ingot.h>

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ingot::test {

inline testing::AssertionResult holds(const std::string &text, const std::string &part) {
  if (text.find(part) != text.npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no \"" << part << "\" in: " << text;
}

/// Returns the error of the final response.
inline HostError errorOf(const std::shared_ptr<Conversation> &conversation) {
  return conversation->error().value_or(
      HostError{TRITONSERVER_ERROR_UNKNOWN, "there is no error: " + conversation->text()});
}

/// Libingot's answer to a request.
struct Reference {
  std::vector<std::vector<int32_t>> ids; ///< per choice
  std::vector<std::string> texts;
  std::vector<std::vector<float>> logprobs;
  std::vector<int32_t> finish;
};

/// Libingot, used directly on the test's engine.
class Library {
public:
  explicit Library(const std::string &engine);
  ~Library() { ingot_executor_close(executor); }
  Reference answer(const std::function<void(ingot_request &)> &set) const;

  ingot_executor *executor = nullptr;
};

/// A fixture with NAME/1/model.ingot and the backend. It checks at the end that no object leaked.
class BackendTest : public testing::Test {
protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;
  void TearDown() override;

  /// Returns a configuration as the server writes it: parameters by name, then further members (",…").
  static std::string config(const std::vector<std::pair<std::string, std::string>> &parameters = {},
                            const std::string &more = "");
  std::unique_ptr<HostModel> load(const std::string &config, HostBackend::Options options = {}) {
    return backend->load(folder, config, options);
  }
  /// Loads the model that most tests use.
  std::unique_ptr<HostModel> load() { return load(config({{"threads", "1"}, {"max_seqs", "4"}})); }
  /// Returns the error with which loading fails.
  HostError refusal(const std::string &config, HostBackend::Options options = {});

  /// Returns a request for `count` ids after the prompt of `seed`, without stopping at the end-of-sequence id.
  static HostRequest ids(int seed, int32_t count, bool stream = true);
  static std::vector<int32_t> expected(int seed, int32_t count) {
    return expectedIds(testPrompt(12, seed), count);
  }

  inline static std::string folder, engine;
  std::unique_ptr<HostBackend> backend;
};

} // namespace ingot::test
