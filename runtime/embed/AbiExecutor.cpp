//===- AbiExecutor.cpp - ingot.h: errors, executors, outputs, statistics ----===//
#include "runtime/embed/Abi.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Inspect.h"

#include <cmath>
#include <cstdlib>

using namespace ingot;
using namespace ingot::embed;

namespace {

// The size of the structure in version 1. Adding a field increments INGOT_ABI_VERSION.
constexpr size_t kConfig1 = 128;
static_assert(offsetof(ingot_config, step_limit) == kConfig1);
static_assert(offsetof(ingot_config, lock_memory) == 136); // version 5
static_assert(sizeof(ingot_config) == 144);
static_assert(sizeof(ingot_output) == 144 && sizeof(ingot_logits_row) == 56);
static_assert(sizeof(ingot_stats) == 168 && sizeof(ingot_model) == 144);

ingot_config defaultConfig() {
  ingot_config config{};
  config.queue_requests = -1;
  return config;
}

AwaitableService::Options optionsOf(const ingot_config &config) {
  constexpr int64_t kDefaultSeqs = 8;
  AwaitableService::Options options;
  runtime::SessionOptions &session = options.session;
  session.context = config.context;
  session.maxSeqs = config.max_seqs ? config.max_seqs : kDefaultSeqs;
  if (config.max_batch_tokens)
    session.maxBatchTokens = config.max_batch_tokens;
  session.prefillChunk = config.prefill_chunk;
  session.kvMemoryBytes = config.kv_memory;
  session.swapBytes = config.swap_memory;
  session.prefixCache = config.no_prefix_cache == 0;
  session.lock = config.lock_memory != 0;
  session.fair = config.fair != 0;
  session.targetTtft = config.target_ttft_ms * 1e-3;
  session.targetItl = config.target_itl_ms * 1e-3;
  session.threads = config.threads;
  session.loadTokenizer = config.no_tokenizer == 0;
  session.device = config.device ? config.device : "";
  session.isa = config.isa ? config.isa : "";
  options.model.chatTemplate = config.chat_template ? config.chat_template : "";
  if (config.queue_requests >= 0)
    options.model.service.queueRequests = config.queue_requests;
  if (config.queue_tokens > 0)
    options.model.service.queueTokens = config.queue_tokens;
  options.model.service.stepLimit = config.step_limit;
  return options;
}

AwaitableService::Timeout timeoutOf(int64_t ms) {
  constexpr int64_t kMost = int64_t(1) << 40; // beyond the range of a clock
  return ms < 0 ? AwaitableService::Timeout() : std::chrono::milliseconds(std::min(ms, kMost));
}

} // namespace

struct ingot_outputs {
  std::vector<AwaitableOutput> outputs;
  std::vector<std::unique_ptr<ingot_error>> errors;
};

namespace ingot::embed {

std::unique_ptr<ingot_error> errorOf(const AwaitableOutput &output) {
  return output.error ? std::make_unique<ingot_error>(*output.error) : nullptr;
}

ingot_output describe(const AwaitableOutput &output, const ingot_error *error) {
  static_assert(sizeof(ingot_logprob) == sizeof(runtime::TokenLogprob));
  ingot_output out{};
  out.struct_size = sizeof out;
  out.request = output.request;
  out.choice = output.choice;
  if (output.error)
    out.finish_reason = INGOT_FINISH_ERROR;
  else if (output.reason)
    out.finish_reason = *output.reason == runtime::FinishReason::Stop     ? INGOT_FINISH_STOP
                        : *output.reason == runtime::FinishReason::Length ? INGOT_FINISH_LENGTH
                                                                          : INGOT_FINISH_CANCELLED;
  out.is_last = output.last;
  out.ids = output.ids.data();
  out.id_count = output.ids.size();
  out.text = output.text.c_str();
  out.text_size = output.text.size();
  out.logprobs = reinterpret_cast<const ingot_logprob *>(output.logprobs.data());
  out.logprobs_per_id = output.logprobsPerId;
  out.stop_string = output.stopString.empty() ? nullptr : output.stopString.c_str();
  out.prompt_tokens = output.promptTokens;
  out.cached_tokens = output.cachedTokens;
  out.new_tokens = output.newTokens;
  out.queue_ms = output.queueMs;
  out.ttft_ms = output.ttftMs;
  out.elapsed_ms = output.elapsedMs;
  out.error = error;
  return out;
}

void *copyOut(const void *data, size_t bytes) {
  auto *memory = static_cast<char *>(std::malloc(bytes + sizeof(int32_t)));
  if (!memory)
    return nullptr;
  std::memcpy(memory, data, bytes);
  std::memset(memory + bytes, 0, sizeof(int32_t));
  return memory;
}

} // namespace ingot::embed

extern "C" {

uint32_t ingot_abi_version(void) { return INGOT_ABI_VERSION; }
const char *ingot_version(void) { return INGOT_VERSION; }

ingot_status ingot_error_status(const ingot_error *error) {
  return error ? ingot_status(error->error.exit) : INGOT_OK;
}
const char *ingot_error_code(const ingot_error *error) {
  return error ? error->error.code.c_str() : "";
}
const char *ingot_error_what(const ingot_error *error) {
  return error ? error->error.what.c_str() : "";
}
const char *ingot_error_why(const ingot_error *error) {
  return error ? error->error.why.c_str() : "";
}
const char *ingot_error_fix(const ingot_error *error) {
  return error ? error->error.fix.c_str() : "";
}
const char *ingot_error_text(const ingot_error *error) { return error ? error->text.c_str() : ""; }
void ingot_error_free(ingot_error *error) { delete error; }
void ingot_free(void *memory) { std::free(memory); }

void ingot_config_init(ingot_config *config, size_t size) {
  initStruct(defaultConfig(), config, size);
}

ingot_status ingot_executor_open(const char *path, const ingot_config *config,
                                 ingot_executor **executor, ingot_error **error) {
  return guarded(error, [&]() -> Result<ingot_status> {
    ingot_config read = defaultConfig();
    if (config) {
      auto given = readStruct(*config, read, kConfig1, "ingot_config");
      if (!given)
        return given.error();
      read = *given;
    }
    // Written as !(in range) so that NaN is refused.
    if (constexpr double kMost = 1e9; !(read.step_limit >= 0 && read.step_limit <= kMost))
      return Error{ExitCode::Usage, "E0501", "the step limit is out of range",
                   "step_limit is " + std::to_string(read.step_limit) + ", allowed: 0 to 1e9 s",
                   "give seconds, or 0 for none"};
    auto opened = AwaitableService::open(path, optionsOf(read));
    if (!opened)
      return opened.error();
    auto handle = std::make_unique<ingot_executor>();
    handle->impl = std::move(*opened);
    const runtime::Session &session = handle->impl->session();
    handle->device = session.device();
    handle->remark = session.remark();
    handle->target = session.target();
    const fb::Text *text = session.engine().table().text();
    if (const fb::SpecialTokens *special = text ? text->special() : nullptr) {
      handle->bos = special->bos();
      if (special->eos())
        handle->eos.assign(special->eos()->begin(), special->eos()->end());
    }
    *executor = handle.release();
    return INGOT_OK;
  });
}

ingot_status ingot_executor_shutdown(ingot_executor *executor, int64_t wait_ms,
                                     ingot_error **error) {
  return guarded(error, [&]() -> Result<ingot_status> {
    auto done = executor->impl->shutdown(timeoutOf(wait_ms));
    return done ? Result<ingot_status>(INGOT_OK) : done.error();
  });
}

void ingot_executor_close(ingot_executor *executor) { delete executor; }

ingot_status ingot_enqueue(ingot_executor *executor, const ingot_request *request, uint64_t *id,
                           ingot_error **error) {
  return guarded(error, [&]() -> Result<ingot_status> {
    const RequestId number = executor->impl->newId();
    auto read = readRequest(*executor, *request, number);
    if (!read)
      return read.error();
    if (auto queued = executor->impl->enqueue(number, std::move(*read)); !queued)
      return queued.error();
    if (id)
      *id = number;
    return INGOT_OK;
  });
}

ingot_status ingot_await(ingot_executor *executor, uint64_t request, int64_t timeout_ms,
                         ingot_outputs **outputs, ingot_error **error) {
  return guarded(error, [&]() -> Result<ingot_status> {
    // Allocate this first, so that no output is lost once it has been taken.
    auto came = std::make_unique<ingot_outputs>();
    auto taken = executor->impl->await(request, timeoutOf(timeout_ms));
    if (!taken)
      return taken.error();
    if (taken->empty())
      return INGOT_TIMEOUT;
    came->outputs = std::move(*taken);
    for (const AwaitableOutput &output : came->outputs)
      came->errors.push_back(errorOf(output));
    *outputs = came.release();
    return INGOT_OK;
  });
}

size_t ingot_ready(ingot_executor *executor, uint64_t request) {
  return executor->impl->ready(request);
}

void ingot_cancel(ingot_executor *executor, uint64_t request) { executor->impl->cancel(request); }

size_t ingot_outputs_count(const ingot_outputs *outputs) {
  return outputs ? outputs->outputs.size() : 0;
}

ingot_status ingot_outputs_get(const ingot_outputs *outputs, size_t index, ingot_output *output) {
  if (!outputs || index >= outputs->outputs.size())
    return INGOT_USAGE;
  ingot_output seen = describe(outputs->outputs[index], outputs->errors[index].get());
  return writeStruct(seen, output);
}

void ingot_outputs_free(ingot_outputs *outputs) { delete outputs; }

ingot_status ingot_stats_get(ingot_executor *executor, ingot_stats *stats) {
  return guarded(nullptr, [&]() -> Result<ingot_status> {
    const service::Measurements m = executor->impl->model().service().metrics().read();
    auto ended = [&](service::Ending ending) { return m.endings[size_t(ending)]; };
    ingot_stats out{};
    out.running = m.running;
    out.waiting = m.waiting;
    out.kv_pages_used = m.pagesUsed;
    out.kv_pages = m.pages;
    out.steps = m.steps;
    out.prompt_tokens = m.promptTokens;
    out.new_tokens = m.generationTokens;
    out.finished_stop = ended(service::Ending::Stop);
    out.finished_length = ended(service::Ending::Length);
    out.cancelled = ended(service::Ending::Abort);
    out.failed = ended(service::Ending::Error);
    out.refused = m.refused;
    out.preemptions = m.preemptions;
    out.prefix_queries = m.prefixQueries;
    out.prefix_hits = m.prefixHits;
    out.step_seconds = m.stepSeconds;
    out.ttft_p50_ms = 1e3 * m.timeToFirstToken.quantile(0.5);
    out.ttft_p99_ms = 1e3 * m.timeToFirstToken.quantile(0.99);
    out.itl_p50_ms = 1e3 * m.interTokenLatency.quantile(0.5);
    out.itl_p99_ms = 1e3 * m.interTokenLatency.quantile(0.99);
    return writeStruct(out, stats);
  });
}

ingot_status ingot_metrics(ingot_executor *executor, char **text, size_t *size,
                           ingot_error **error) {
  return guarded(error, [&]() -> Result<ingot_status> {
    service::ServedModel &model = executor->impl->model();
    const std::pair<std::string, service::Measurements> one{model.name(),
                                                            model.service().metrics().read()};
    const std::string written = service::exposition({&one, 1});
    *text = static_cast<char *>(copyOut(written.data(), written.size()));
    if (!*text)
      return outOfMemory("copying metrics");
    *size = written.size();
    return INGOT_OK;
  });
}

ingot_status ingot_model_get(ingot_executor *executor, ingot_model *model) {
  const service::ServedModel &served = executor->impl->model();
  const runtime::Session &session = served.session();
  const runtime::MemoryPlan &memory = session.memory();
  ingot_model out{};
  out.name = served.name().c_str();
  out.fingerprint = served.fingerprint().c_str();
  out.target = executor->target.c_str();
  out.device = executor->device.c_str();
  out.remark = executor->remark.c_str();
  out.vocab = session.vocab();
  out.context = session.context();
  out.max_seqs = session.maxSeqs();
  out.max_batch_tokens = int64_t(memory.limits.maxBatchTokens);
  out.threads = session.threads();
  out.has_tokenizer = session.tokenizer() != nullptr;
  out.has_chat_template = served.chatTemplate() != nullptr;
  out.bos = executor->bos;
  out.eos = executor->eos.data();
  out.eos_count = executor->eos.size();
  out.mapped_bytes = memory.mapped;
  out.allocated_bytes = memory.allocated();
  out.kv_bytes = memory.kv;
  out.load_ms = session.loadMs();
  return writeStruct(out, model);
}

} // extern "C"
