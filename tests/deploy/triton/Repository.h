//===- Repository.h - A model repository with the test engine ----------------===//
//
// And what libingot itself answers to a request, which the backend is compared with. This header
// and its users see ingot.h and TritonApi.h alone, as the backend does.
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

/// Of the final response.
inline HostError errorOf(const std::shared_ptr<Conversation> &conversation) {
  return conversation->error().value_or(
      HostError{TRITONSERVER_ERROR_UNKNOWN, "there is no error: " + conversation->text()});
}

/// What libingot says to a request.
struct Reference {
  std::vector<std::vector<int32_t>> ids; ///< of each choice
  std::vector<std::string> texts;
  std::vector<std::vector<float>> logprobs;
  std::vector<int32_t> finish;
};

/// The library itself on the test's engine.
class Library {
public:
  explicit Library(const std::string &engine);
  ~Library() { ingot_executor_close(executor); }
  Reference answer(const std::function<void(ingot_request &)> &set) const;

  ingot_executor *executor = nullptr;
};

/// A fixture: NAME/1/model.ingot, the backend, and a look at the end that nothing was left behind.
class BackendTest : public testing::Test {
protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;
  void TearDown() override;

  /// A configuration as the server writes it: parameters by name, and more members (",…").
  static std::string config(const std::vector<std::pair<std::string, std::string>> &parameters = {},
                            const std::string &more = "");
  std::unique_ptr<HostModel> load(const std::string &config, HostBackend::Options options = {}) {
    return backend->load(folder, config, options);
  }
  /// The default model of most cases.
  std::unique_ptr<HostModel> load() { return load(config({{"threads", "1"}, {"max_seqs", "4"}})); }
  /// Why it is not loaded.
  HostError refusal(const std::string &config, HostBackend::Options options = {});

  /// Streams `count` ids of the prompt `seed`, whatever they are.
  static HostRequest ids(int seed, int32_t count, bool stream = true);
  static std::vector<int32_t> expected(int seed, int32_t count) {
    return expectedIds(testPrompt(12, seed), count);
  }

  inline static std::string folder, engine;
  std::unique_ptr<HostBackend> backend;
};

} // namespace ingot::test
