//===- ReferenceRun.cpp - Runs a checkpoint through the interpreter -------===//
//
//   ingot-reference-run MODEL --ids 1,2,3 -n 10     greedy continuation, with margins
//   ingot-reference-run MODEL --score F.json        nll of a JSON array of ids
//   ingot-reference-run MODEL --print               the imported lm
//
// This program is not a test. The goldens were first reproduced with it, and it stays for the next architecture.
//===----------------------------------------------------------------------===//
#include "compiler/reference/Interpreter.h"
#include "models/Family.h"

#include "compiler/import/OpenCheckpoint.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

using namespace ingot;
using namespace ingot::reference;

static int fail(const Error &error) {
  llvm::errs() << error.format();
  return static_cast<int>(error.exit);
}

/// Returns the log softmax of a row at `id`.
static double logProbability(std::span<const float> logits, int32_t id) {
  double highest = *std::ranges::max_element(logits), total = 0;
  for (float logit : logits)
    total += std::exp(logit - highest);
  return logits[id] - highest - std::log(total);
}

static int generate(Interpreter &interpreter, std::vector<int32_t> ids, int count) {
  KvState kv;
  int64_t position = 0;
  for (int i = 0; i < count; ++i) {
    Step step{ids, {}, {}, {static_cast<int32_t>(ids.size()) - 1}};
    for (size_t t = 0; t < ids.size(); ++t)
      step.positions.push_back(position++);
    auto logits = interpreter.step(step, kv);
    if (!logits)
      return fail(logits.error());
    auto row = logits->row(0);
    auto best = std::ranges::max_element(row);
    float highest = *best;
    auto id = static_cast<int32_t>(best - row.begin());
    *best = -INFINITY;
    llvm::outs() << id << " (margin " << highest - *std::ranges::max_element(row) << ")\n";
    ids = {id};
  }
  return 0;
}

static int score(Interpreter &interpreter, const std::vector<int32_t> &ids) {
  constexpr size_t kChunk = 128; // bounds the logits' memory
  KvState kv;
  for (size_t begin = 0; begin + 1 < ids.size(); begin += kChunk) {
    size_t end = std::min(begin + kChunk, ids.size() - 1);
    Step step{{ids.begin() + begin, ids.begin() + end}, {}, {}, {}};
    for (size_t t = begin; t < end; ++t)
      step.positions.push_back(static_cast<int64_t>(t));
    auto logits = interpreter.step(step, kv);
    if (!logits)
      return fail(logits.error());
    for (size_t t = begin; t < end; ++t) {
      double nll = -logProbability(logits->row(static_cast<int64_t>(t - begin)), ids[t + 1]);
      llvm::outs() << llvm::format("%.6f\n", nll);
    }
  }
  return 0;
}

static std::vector<int32_t> readIds(const std::string &path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::ranges::replace_if(text, [](char c) { return c == '[' || c == ',' || c == ']'; }, ' ');
  std::istringstream numbers(text);
  return {std::istream_iterator<int32_t>(numbers), {}};
}

int main(int argc, char **argv) {
  CLI::App app{"runs a checkpoint through the reference interpreter"};
  std::string model, scoreFile;
  std::vector<int32_t> ids;
  int count = 1;
  bool print = false;
  app.add_option("MODEL", model)->required();
  app.add_option("--ids", ids)->delimiter(',');
  app.add_option("-n", count);
  app.add_option("--score", scoreFile);
  app.add_flag("--print", print);
  CLI11_PARSE(app, argc, argv);

  auto checkpoint = import::openCheckpoint(model);
  if (!checkpoint)
    return fail(checkpoint.error());
  mlir::MLIRContext context;
  Error why;
  auto module = models::importModel(context, **checkpoint, why);
  if (mlir::failed(module))
    return fail(why);
  if (print)
    (*module)->print(llvm::outs());
  CheckpointWeights weights(**checkpoint);
  auto interpreter = Interpreter::create(**module, weights);
  if (!interpreter)
    return fail(interpreter.error());
  if (!scoreFile.empty())
    return score(**interpreter, readIds(scoreFile));
  return ids.empty() ? 0 : generate(**interpreter, ids, count);
}
