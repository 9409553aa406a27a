#include "tools/ingot/engines/EngineOptions.h"

#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Inspect.h"
#include "runtime/engine/Isa.h"
#include "tools/files/Files.h"
#include "tools/terminal/Console.h"

#include <charconv>
#include <filesystem>

namespace ingot::cli {

void CommonOptions::define(CommandLine &command) {
  const char *group = "Everywhere";
  command
      .option("--device", device,
              "where to run (default: cpu, unless the engine has code only for GPUs)")
      .oneOf({"cpu", "cuda", "cuda-emulator"})
      .group(group);
  command
      .option("--isa", isa,
              "pin the CPU level: " + runtime::isaNames("or") +
                  " (default: the best of this machine)")
      .check([](const std::string &level) {
        return runtime::isaLevelNamed(level) ? "" : "levels are " + runtime::isaNames("and");
      })
      .group(group);
  command.option("--threads", threads, "threads (default: every processor)")
      .range(1, 1024)
      .group(group);
  command.option("--trace", trace, "write a Chrome trace of every launch to this file")
      .group(group);
  command.flag("--quiet", quiet, "print only the answer, and only errors on stderr").group(group);
  command.flag("--json", json, "the answer as JSON").group(group);
}

void CommonOptions::say(std::string_view line) const {
  if (!quiet && !json)
    note(line);
}

constexpr int64_t kMostOfAnything = int64_t{1} << 40;

void LimitOptions::define(CommandLine &command) {
  const char *group = "Limits (all memory is allocated at the start)";
  command
      .option("--context", context,
              "positions a sequence may have (default: the model's, at most 4096, halved until "
              "--max-seqs of them fit the free memory)")
      .range(int64_t{1}, kMostOfAnything)
      .group(group);
  command.option("--max-seqs", maxSeqs, "sequences in one step")
      .range(int64_t{1}, kMostOfAnything)
      .group(group);
  command
      .option("--max-batch-tokens", maxBatchTokens,
              "tokens in one step (default: 512; GPUs: 2048, less if memory is short)")
      .range(int64_t{1}, kMostOfAnything)
      .group(group);
  command
      .option(
          "--kv-memory", kvMemory,
          "bytes for KV pages, such as 800M or 2GiB (default: max-seqs × context; serve and batch: "
          "half of the free memory, on a GPU half of the rest)")
      .bytes()
      .group(group);
  command
      .option("--swap", swap,
              "bytes of host memory for KV pages of preempted requests (default: 1G for serve and "
              "batch; else none, they are recomputed)")
      .bytes()
      .group(group);
  command
      .flag("--no-prefix-cache", noPrefixCache,
            "do not share KV pages between requests with a common prefix")
      .group(group);
  command
      .flag("--lock", lock,
            "never page out weights, KV pages and working memory (CPUs; needs ulimit -l)")
      .group(group);
}

/// Parses "default" (the driver's choice) or a percentage from 0 to 100.
static std::optional<int> parseCarveout(const std::string &text) {
  if (text == "default")
    return cuda::kDriversCarveout;
  int percent = -1;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const bool whole = failure == std::errc() && end == text.data() + text.size();
  return whole && percent >= 0 && percent <= 100 ? std::optional(percent) : std::nullopt;
}

void GpuFlags::define(CommandLine &command) {
  // The parser's own messages omit the names of hidden options, so the check adds them.
  auto hidden = [&](const char *name, std::string &value, const char *help, const char *allowed,
                    bool (*fits)(const std::string &)) {
    auto check = [=](const std::string &text) {
      return fits(text) ? "" : std::string(name) + " is " + text + ", allowed: " + allowed;
    };
    command.option(name, value, help).check(check).group("");
  };
  hidden("--gpu-edges", edges, "how a kernel waits for the previous one", "programmatic, full",
         [](const std::string &text) { return text == "programmatic" || text == "full"; });
  hidden("--gpu-carveout", carveout, "percent of fast memory that is shared", "0 to 100, default",
         [](const std::string &text) { return parseCarveout(text).has_value(); });
  hidden("--gpu-graphs", graphs, "whether decode steps use graphs", "on, off",
         [](const std::string &text) { return text == "on" || text == "off"; });
}

cuda::GpuOptions GpuFlags::options() const {
  cuda::GpuOptions options;
  if (edges == "full")
    options.edges = cuda::GpuEdges::Full;
  if (!carveout.empty())
    options.carveout = *parseCarveout(carveout);
  options.graphs = graphs == "on";
  return options;
}

void EngineOptions::define(CommandLine &command) {
  command
      .option("MODEL", model,
              "an engine file, or a checkpoint: a folder, .gguf, .safetensors or hf:ORG/NAME")
      .required();
  common.define(command);
  command.flag("--verify", verify, "check every byte of the engine before it runs")
      .group("Everywhere");
  limits.define(command);
  gpu.define(command);
  compile.define(command);
}

Result<std::string> EngineOptions::enginePath() const {
  if (!common.trace.empty())
    if (auto fine = checkWritable(common.trace); !fine)
      return fine.error();
  return resolveEngine(model, compile, common.quiet || common.json);
}

Result<std::unique_ptr<runtime::Session>>
EngineOptions::open(runtime::SessionOptions defaults) const {
  Result<std::string> path = enginePath();
  if (!path)
    return path.error();
  return open(*path, std::move(defaults));
}

/// Returns the remedy for E0502: the limits that the user gave and can lower.
static std::string smallerLimits(const LimitOptions &given,
                                 const runtime::SessionOptions &options) {
  std::string lower;
  auto add = [&](const char *flag, bool isGiven, const std::string &value) {
    if (isGiven)
      lower += (lower.empty() ? "lower " : " or ") + std::string(flag) + " (" + value + ")";
  };
  add("--context", given.context != 0, std::to_string(given.context));
  add("--max-seqs", given.maxSeqs != 0, std::to_string(given.maxSeqs));
  add("--max-batch-tokens", given.maxBatchTokens != 0, std::to_string(given.maxBatchTokens));
  add("--kv-memory", given.kvMemory != 0, runtime::humanBytes(given.kvMemory));
  if (given.lock)
    lower = "omit --lock" + (lower.empty() ? "" : ", or " + lower);
  if (!lower.empty())
    return lower;
  return options.maxSeqs > 1
             ? "give --max-seqs N below " + std::to_string(options.maxSeqs) +
                   ", or stop other programs"
             : "stop other programs, or give --max-batch-tokens N below " +
                   std::to_string(options.maxBatchTokens ? options.maxBatchTokens
                                                         : int64_t(runtime::kDefaultBatchTokens));
}

runtime::SessionOptions EngineOptions::withLimits(runtime::SessionOptions options) const {
  if (limits.context)
    options.context = limits.context;
  if (limits.maxSeqs)
    options.maxSeqs = limits.maxSeqs;
  if (limits.maxBatchTokens)
    options.maxBatchTokens = limits.maxBatchTokens;
  options.kvMemoryBytes = limits.kvMemory;
  if (limits.swap)
    options.swapBytes = *limits.swap;
  options.prefixCache &= !limits.noPrefixCache;
  options.lock = limits.lock;
  options.threads = common.threads;
  options.device = common.device;
  options.isa = common.isa;
  options.gpu = gpu.options();
  options.traceFile = common.trace;
  options.verify = verify;
  return options;
}

Result<std::unique_ptr<runtime::Session>>
EngineOptions::open(const std::string &path, runtime::SessionOptions options) const {
  options = withLimits(std::move(options));
  auto session = runtime::Session::open(path, options);
  if (!session && session.error().code == errors::kTooLittleMemory)
    session.error().fix = smallerLimits(limits, options);
  if (session) {
    const uint64_t model = (*session)->engine().table().model()->context();
    const auto context = static_cast<uint64_t>((*session)->context());
    if (!options.context && context < std::min(model, runtime::kDefaultContext) && !common.quiet)
      note("context " + grouped(context) + " of " + grouped(model) +
           ": more does not fit the free "
           "memory with --max-seqs " +
           std::to_string(options.maxSeqs) + "; --context N requests it anyway");
    common.say(std::filesystem::path(path).filename().string() + ": " + memoryLine(**session));
    if (std::string remark = (*session)->remark(); !remark.empty())
      common.say(remark);
  }
  return session;
}

EngineOptions quietly(const std::string &path, const CommonOptions &common,
                      const LimitOptions &limits) {
  EngineOptions options;
  options.model = path;
  options.common = common;
  options.common.quiet = true;
  options.limits = limits;
  return options;
}

Result<int> EngineOptions::close(runtime::Session &session) const {
  if (const Error *failure = session.failure())
    return *failure;
  if (auto written = session.writeTrace(); !written)
    return written.error();
  if (!common.trace.empty())
    common.say("wrote " + common.trace + ": open it in chrome://tracing or ui.perfetto.dev");
  return 0;
}

std::string memoryLine(const runtime::Session &session) {
  using runtime::humanBytes;
  const runtime::MemoryPlan &use = session.memory();
  return humanBytes(use.mapped) + " engine + " +
         (use.uploaded ? humanBytes(use.uploaded) + " weights on the GPU + " : "") +
         (use.seeded ? humanBytes(use.seeded) + " weights from the seed + " : "") +
         humanBytes(use.kv) + " KV (" + grouped(use.pages) + " pages, " +
         grouped(use.limits.maxSeqs) + " × " + grouped(use.limits.context) + " tokens) + " +
         humanBytes(use.allocated() - use.kv - use.seeded - use.uploaded) +
         " working memory = " + humanBytes(use.total()) +
         (use.limits.lock ? ", of which " + humanBytes(use.lockable()) + " is locked" : "") +
         (use.limits.reserved ? ", and " + humanBytes(use.limits.reserved) + " of the GPU left free"
                              : "") +
         "; " + std::string(session.target()) + ", " + session.device();
}

void SamplingOptions::define(CommandLine &command) {
  const char *group = "Sampling (default: the checkpoint's parameters, else greedy)";
  command.flag("--greedy", greedy, "always choose the likeliest id").group(group);
  for (const runtime::SamplingField &field : runtime::kSamplingFields)
    if (!field.apart()) {
      auto define = [&](auto member) {
        return command.option(field.flags, values.*member, field.help);
      };
      fields.emplace_back(&field, std::visit(define, field.member).group(group));
    }
  command.find("--seed").check(seedProblem);
  command
      .option("--logit-bias", logitBias, "ID=VALUE: add VALUE to the logit of an id (repeatable)")
      .takesOne()
      .group(group);
  command.option("--stop", stopStrings, "stop before this text (repeatable)")
      .takesOne()
      .group(group);
  command.flag("--ignore-eos", ignoreEos, "continue where the model would stop").group(group);
}

/// Parses "42=-1.5" or "42:-1.5".
static Result<std::pair<int32_t, float>> parseBias(const std::string &text) {
  const size_t sign = text.find_first_of("=:");
  std::pair<int32_t, float> bias{};
  const char *end = text.data() + text.size();
  if (sign != std::string::npos) {
    auto id = std::from_chars(text.data(), text.data() + sign, bias.first);
    auto value = std::from_chars(text.data() + sign + 1, end, bias.second);
    if (id.ec == std::errc() && id.ptr == text.data() + sign && value.ec == std::errc() &&
        value.ptr == end)
      return bias;
  }
  return Error{ExitCode::Usage, "E0104", "--logit-bias cannot be read: " + text, "",
               "give ID=VALUE, such as --logit-bias 42=-1.5"};
}

Result<runtime::AskedSampling> SamplingOptions::asked() const {
  runtime::AskedSampling all;
  for (const auto &[field, option] : fields) {
    if (!option.given())
      continue;
    if (auto fine = field->check(values, "--" + field->dashed()); !fine)
      return fine.error();
    std::visit([&](auto member) { all.set(member, values.*member); }, field->member);
  }
  if (greedy)
    all.set(&runtime::SamplingParams::temperature, 0.0f);
  for (const std::string &text : logitBias) {
    auto bias = parseBias(text);
    if (!bias)
      return bias.error();
    all.values.logitBias.push_back(*bias);
  }
  return all;
}

} // namespace ingot::cli
