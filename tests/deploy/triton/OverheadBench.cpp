//===- OverheadBench.cpp - What the backend costs beside libingot alone ------===//
//
//   triton-overhead ENGINE [REQUESTS [TOKENS [TOGETHER]]]
//
// The same streamed requests through libingot's callbacks and through the backend under the host of
// the tests, in turns. Processor time is what counts: it is the same on a busy machine. Of the
// host, which keeps every response, some of it is too; of the server's own work nothing.
//===----------------------------------------------------------------------===//
#include "tests/deploy/triton/TritonHost.h"

#include <ingot.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <sys/resource.h>
#include <unistd.h>

using namespace ingot::test;

namespace {

const std::vector<int32_t> kPrompt = {1, 2, 3, 4, 5, 6, 7, 8};

struct Cost {
  double cpu = 0, wall = 0; ///< seconds
  size_t responses = 0;
  uint64_t tokens = 0;
};

double cpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

template <typename Body> void measure(Cost &cost, Body &&body) {
  const double before = cpuSeconds();
  const auto start = std::chrono::steady_clock::now();
  body();
  cost.wall += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  cost.cpu += cpuSeconds() - before;
}

void direct(ingot_executor *executor, int requests, int tokens, Cost &cost) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int left;
    size_t responses = 0;
    uint64_t tokens = 0;
  } state;
  state.left = requests;
  measure(cost, [&] {
    for (int i = 0; i < requests; ++i) {
      ingot_request request;
      ingot_request_init(&request, sizeof request);
      request.prompt_ids = kPrompt.data();
      request.prompt_id_count = kPrompt.size();
      request.max_tokens = tokens;
      request.ignore_eos = 1;
      request.streaming = 1;
      request.user = &state;
      request.on_output = [](void *user, const ingot_output *output) {
        State &to = *static_cast<State *>(user);
        const std::lock_guard lock(to.mutex);
        ++to.responses;
        to.tokens += output->id_count;
        to.left -= output->is_last;
        to.changed.notify_all();
      };
      uint64_t id = 0;
      ingot_error *error = nullptr;
      if (ingot_enqueue(executor, &request, &id, &error)) {
        std::fputs(ingot_error_text(error), stderr);
        std::exit(1);
      }
    }
    std::unique_lock lock(state.mutex);
    state.changed.wait(lock, [&] { return state.left == 0; });
  });
  cost.responses += state.responses;
  cost.tokens += state.tokens;
}

void throughBackend(HostModel &model, int requests, int tokens, Cost &cost) {
  std::vector<HostRequest> all(static_cast<size_t>(requests));
  for (HostRequest &request : all)
    request.ids("input_ids", kPrompt)
        .int32("max_tokens", tokens)
        .flag("ignore_eos", true)
        .flag("stream", true)
        .want("text_output")
        .want("output_ids");
  std::vector<std::shared_ptr<Conversation>> conversations;
  measure(cost, [&] {
    conversations = model.sendAll(all);
    for (const auto &conversation : conversations)
      conversation->wait();
  });
  for (const auto &conversation : conversations) {
    if (const auto error = conversation->error()) {
      std::fprintf(stderr, "%s\n", error->text.c_str());
      std::exit(1);
    }
    cost.responses += conversation->responses().size();
  }
  cost.tokens += uint64_t(requests) * uint64_t(tokens);
}

void show(const char *name, const Cost &cost) {
  std::printf("%-8s %8llu tokens %8zu responses  %7.2f us of processor a token, %7.2f us of time\n",
              name, static_cast<unsigned long long>(cost.tokens), cost.responses,
              cost.cpu / double(cost.tokens) * 1e6, cost.wall / double(cost.tokens) * 1e6);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fputs("usage: triton-overhead ENGINE [REQUESTS [TOKENS [TOGETHER]]]\n", stderr);
    return 2;
  }
  const int requests = argc > 2 ? std::atoi(argv[2]) : 64,
            tokens = argc > 3 ? std::atoi(argv[3]) : 200;
  const char *const together = argc > 4 ? argv[4] : "4";
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("triton-" + std::to_string(getpid())) / "m";
  fs::create_directories(folder);

  ingot_config config;
  ingot_config_init(&config, sizeof config);
  config.threads = 1;
  config.max_seqs = std::atoi(together);
  ingot_executor *executor = nullptr;
  ingot_error *error = nullptr;
  if (ingot_executor_open(argv[1], &config, &executor, &error)) {
    std::fputs(ingot_error_text(error), stderr);
    return 1;
  }
  Cost alone, under;
  {
    HostBackend backend(INGOT_TRITON_BACKEND);
    const auto model = backend.load(
        folder, R"({"parameters":{"engine":{"string_value":")" + fs::absolute(argv[1]).string() +
                    R"("},"threads":{"string_value":"1"},"max_seqs":{"string_value":")" + together +
                    R"("}}})");
    Cost warm;
    direct(executor, requests, tokens, warm);
    throughBackend(*model, requests, tokens, warm);
    for (int round = 0; round < 5; ++round) {
      direct(executor, requests, tokens, alone);
      throughBackend(*model, requests, tokens, under);
    }
  }
  ingot_executor_close(executor);
  fs::remove_all(folder.parent_path());
  show("libingot", alone);
  show("backend", under);
  std::printf("the backend adds %.2f us of processor a token, %.2f us a response\n",
              (under.cpu - alone.cpu) / double(under.tokens) * 1e6,
              (under.cpu - alone.cpu) / double(under.responses) * 1e6);
  return 0;
}
