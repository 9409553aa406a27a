//===- Provenance.cpp - See Provenance.h ----------------------------------===//
#include "compiler/driver/engine/Provenance.h"
#include "compiler/driver/formats/KvCaches.h"
#include "compiler/import/files/ContentHash.h"
#include "compiler/options/RecipeFile.h"
#include "dialects/plan/ops/Program.h"
#include "models/Family.h"

#include "compiler/options/PhaseOptions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <span>

using namespace ingot;
using namespace ingot::compiler;

bool compiler::isBehindLowering(const std::string &point) {
  return point == "pre-plan" || point == "pre-codegen";
}

static void addAttribute(std::vector<std::unique_ptr<fb::AttributeT>> &to, std::string key,
                         std::string value) {
  auto entry = std::make_unique<fb::AttributeT>();
  entry->key = std::move(key), entry->value = std::move(value);
  to.push_back(std::move(entry));
}

/// Returns a hash of a file that was read earlier.
static std::string contentOf(const std::string &path) {
  auto bytes = llvm::MemoryBuffer::getFile(path);
  if (!bytes)
    return "unknown";
  llvm::StringRef text = (*bytes)->getBuffer();
  return import::hashContent({std::as_bytes(std::span(text.data(), text.size()))});
}

void compiler::writeOrigin(const CompileOptions &options, const import::Checkpoint &checkpoint,
                           const std::vector<PassEvidence> &evidence, bool planUnchecked,
                           fb::EngineT &table) {
  auto attribute = [&](std::string key, std::string value) {
    addAttribute(table.provenance, std::move(key), std::move(value));
  };
  attribute("source.hash", checkpoint.contentHash);
  attribute("source.architecture", checkpoint.architecture);
  attribute("precision", options.exact ? "exact" : "fast");
  if (!options.gpuTargets.empty())
    attribute("batch_invariant", options.batchInvariant ? "yes" : "no");
  attribute("quantize", options.quantize.empty() ? "as stored" : options.quantize);
  for (const std::string &rule : options.recipe)
    attribute("format", rule);
  for (const PatternsAt &patterns : options.patterns)
    attribute("patterns", textOf({patterns.point, llvm::sys::path::filename(patterns.path).str()}) +
                              ", content " + contentOf(patterns.path));
  for (const std::string &path : options.plugins)
    attribute("plugin", llvm::sys::path::filename(path).str() + ", content " + contentOf(path));
  if (const std::string &path = options.chatTemplate; !path.empty())
    attribute("chat-template",
              llvm::sys::path::filename(path).str() + ", content " + contentOf(path));
  if (!options.chatTemplateName.empty())
    attribute("chat-template-name", options.chatTemplateName);
  for (const auto &[point, passes] : options.insertions)
    attribute("insert", point + "=" + passes);
  for (const auto &[point, passes] : options.insertions)
    if (planUnchecked && isBehindLowering(point))
      attribute("unchecked", point + "=" + passes);
  for (const auto &[point, path] : options.patterns)
    if (planUnchecked && isBehindLowering(point))
      attribute("unchecked", point + "=" + llvm::sys::path::filename(path).str());
  for (const std::string &pass : options.disabled)
    attribute("disable", pass);
  for (const std::string &key : options.ignoredKeys)
    attribute("ignore-key", key);
  if (const std::string keys = models::passedOver(checkpoint); !keys.empty())
    attribute("keys.passed_over", keys);
  if (options.weights != WeightOrigin::Checkpoint)
    attribute("weights", std::string(weightOriginName(options.weights)) + ", seed " +
                             std::to_string(options.seed));
  if (options.from != Phase::Checkpoint)
    attribute("from", std::string(phaseName(options.from)) + "=" +
                          llvm::sys::path::filename(options.fromFile).str());
  attribute("recipe", recipeInEngine(options));
  for (const PassEvidence &pass : evidence) {
    auto entry = std::make_unique<fb::EvidenceT>();
    entry->pass = pass.pass, entry->inputs = pass.inputs;
    entry->max_abs = pass.maxAbs, entry->max_rel = pass.maxRel;
    table.evidence.push_back(std::move(entry));
  }
}

void compiler::writeOriginOfProgram(const std::string &kv, plan::ProgramOp program,
                                    fb::ProgramT &table) {
  auto attribute = [&](std::string key, std::string value) {
    addAttribute(table.provenance, std::move(key), std::move(value));
  };
  const std::vector<std::string> words = kvWords(program);
  attribute("kv", words.empty() ? kv : llvm::join(words, ", "));
  if (program.getPeak() && program.getLowerBound()) {
    attribute("arena.bytes_per_token", std::to_string((*program.getPeak())[0]) + ", lower bound " +
                                           std::to_string((*program.getLowerBound())[0]));
    attribute("arena.bytes_per_row", std::to_string((*program.getPeak())[1]) + ", lower bound " +
                                         std::to_string((*program.getLowerBound())[1]));
  }
  if (auto bytes = program.getBytesPerStep()) {
    attribute("traffic.weights_per_step", std::to_string((*bytes)[0]));
    attribute("traffic.bytes_per_token", std::to_string((*bytes)[1]));
    attribute("traffic.bytes_per_row", std::to_string((*bytes)[2]));
  }
}
