//===- Score.cpp - ingot score and ingot logits -------------------------------===//
#include "runtime/engine/EngineFile.h"
#include "tools/files/Files.h"
#include "tools/files/Json.h"
#include "tools/files/NpyWriter.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/EngineOptions.h"
#include "tools/terminal/Console.h"

#include <charconv>

namespace ingot::cli {

namespace {

/// The logits of a long text are computed in chunks of this many rows.
constexpr int64_t kRows = 64;

struct IdsOptions {
  EngineOptions engine;
  std::string ids, idsFile, out;
};

Result<std::vector<int32_t>> parseList(const std::string &text) {
  std::vector<int32_t> ids;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    int32_t id = 0;
    auto [rest, failure] = std::from_chars(at, end, id);
    if (failure != std::errc() || (rest < end && *rest != ',') || rest + 1 == end)
      return Error{ExitCode::Usage, "E0105",
                   "--ids cannot be read at \"" + std::string(at, std::min(end, at + 16)) + "\"",
                   "", "give ids separated by commas: --ids 504,3575,282"};
    ids.push_back(id);
    at = rest + (rest < end);
  }
  return ids;
}

Result<std::vector<int32_t>> readIds(const IdsOptions &options) {
  if (options.idsFile.empty() && options.ids.empty())
    return Error{ExitCode::Usage, "E0503", "there are no ids", "",
                 "give --ids 504,3575,282 or --ids-file F"};
  if (options.idsFile.empty())
    return parseList(options.ids);
  auto text = readFile(options.idsFile);
  if (!text)
    return text.error();
  return parseIds(*text, options.idsFile);
}

/// Opens a session with room for exactly this text, or for the context given by --context.
Result<std::unique_ptr<runtime::Session>> openFor(const std::vector<int32_t> &ids,
                                                  const IdsOptions &options) {
  runtime::SessionOptions wanted;
  wanted.loadTokenizer = false;
  wanted.logitsRows = kRows;
  wanted.context = options.engine.limits.context;
  auto path = options.engine.enginePath();
  if (!path)
    return path.error();
  if (!wanted.context) {
    auto engine = runtime::EngineFile::open(*path);
    if (!engine)
      return engine.error();
    // The session refuses a text longer than the model's context. Its error states both lengths.
    wanted.context = std::min<int64_t>((*engine)->table().model()->context(),
                                       static_cast<int64_t>(ids.size()) + 1);
  }
  return options.engine.open(*path, wanted);
}

Result<int> score(const IdsOptions &options) {
  auto ids = readIds(options);
  if (!ids)
    return ids.error();
  auto session = openFor(*ids, options);
  if (!session)
    return session.error();
  auto result = (*session)->score(*ids);
  if (!result)
    return result.error();
  if (options.engine.common.json) {
    emit(JsonObject()
             .field("nll", result->nll)
             .field("perplexity", result->perplexity)
             .field("kv_saturated", result->kvSaturated)
             .str() +
         "\n");
  } else {
    emit("perplexity " + jsonNumber(result->perplexity) + " over " + grouped(result->nll.size()) +
         " ids\n");
  }
  if (result->kvSaturated)
    options.engine.common.say(
        grouped(static_cast<uint64_t>(result->kvSaturated)) +
        " values of K and V exceeded f16's maximum, 65,504, and were clamped: compile with --kv "
        "bf16");
  return options.engine.close(**session);
}

Result<int> logits(const IdsOptions &options) {
  if (auto fine = checkWritable(options.out); !fine)
    return fine.error();
  auto ids = readIds(options);
  if (!ids)
    return ids.error();
  auto session = openFor(*ids, options);
  if (!session)
    return session.error();
  const auto vocab = static_cast<uint64_t>((*session)->vocab());
  auto file = NpyWriter::create(options.out, ids->size(), vocab);
  if (!file)
    return file.error();
  auto done =
      (*session)->logits(*ids, [&](int64_t, int64_t rows, const float *data, int64_t stride) {
        for (int64_t row = 0; row < rows; ++row)
          (*file)->row(data + row * stride);
      });
  if (!done)
    return done.error();
  if (auto closed = (*file)->finish(); !closed)
    return closed.error();
  if (options.engine.common.json)
    emit(JsonObject()
             .field("out", options.out)
             .field("shape", std::vector<uint64_t>{ids->size(), vocab})
             .str() +
         "\n");
  else
    options.engine.common.say("wrote " + options.out + ": f32 [" + std::to_string(ids->size()) +
                              ", " + std::to_string(vocab) + "]");
  return options.engine.close(**session);
}

std::shared_ptr<IdsOptions> defineIds(CommandLine &command) {
  auto options = std::make_shared<IdsOptions>();
  options->engine.define(command);
  auto ids = command.option("--ids", options->ids, "1,2,3");
  command.option("--ids-file", options->idsFile, "a file with one JSON array of ids; - is stdin")
      .excludes(ids);
  return options;
}

} // namespace

Action defineScore(CommandLine &command) {
  auto options = defineIds(command);
  command.examples("  ingot score smollm2.ingot --ids-file text.json --json\n"
                   "nll[i] is for id i+1 given ids 0 to i; no BOS is added.\n");
  return [options] { return score(*options); };
}

Action defineLogits(CommandLine &command) {
  auto options = defineIds(command);
  command.option("--out", options->out, "the .npy to write: f32 [ids, vocabulary]").required();
  command.examples("  ingot logits smollm2.ingot --ids 504,3575,282 --out logits.npy\n"
                   "Row i holds the logits after ids 0 to i; no BOS is added.\n");
  return [options] { return logits(*options); };
}

} // namespace ingot::cli
