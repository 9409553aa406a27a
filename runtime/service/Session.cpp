//===- Session.cpp - Submitting, stepping, logits -------------------------===//
#include "runtime/service/Session.h"

#include "runtime/sample/Softmax.h"
#include "runtime/service/SessionImpl.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ingot::runtime {

Session::Session(std::unique_ptr<Impl> parts) : impl(std::move(parts)) {}

Session::~Session() {
  // Whoever wants to know whether it could be written calls writeTrace() first.
  if (auto written = writeTrace(); !written)
    std::fputs(written.error().format().c_str(), stderr);
}

const EngineFile &Session::engine() const { return *impl->file; }
const fb::Engine &Session::program() const { return impl->executor->program(); }
const text::Tokenizer *Session::tokenizer() const { return impl->tokenizer.get(); }
int64_t Session::vocab() const { return impl->limits.vocab; }
int64_t Session::context() const { return impl->limits.context; }
int64_t Session::maxSeqs() const { return impl->kv->rows(); }
int Session::threads() const { return impl->executor->threads(); }
std::string_view Session::target() const { return impl->executor->target(); }
std::string Session::device() const { return impl->executor->device(); }
std::string Session::remark() const { return impl->executor->remark(); }
const Error *Session::failure() const { return impl->failure ? &*impl->failure : nullptr; }
const MemoryStatement &Session::memory() const { return impl->executor->memory(); }
double Session::loadMs() const { return impl->loadMs; }

SamplingParams Session::defaultSampling() const {
  SamplingParams params;
  const fb::GenerationDefaults *defaults = impl->file->table().generation();
  if (!defaults)
    return params;
  params.repetitionPenalty = defaults->repetition_penalty();
  if (!defaults->do_sample())
    return params;
  params.temperature = defaults->temperature();
  params.topK = defaults->top_k();
  params.topP = defaults->top_p();
  params.minP = defaults->min_p();
  return params;
}

Result<std::vector<int32_t>> Session::encodePrompt(std::string_view text) const {
  if (!impl->tokenizer)
    return noTokenizer("a text prompt");
  auto ids = impl->tokenizer->encode(text);
  if (!ids)
    return ids.error();
  const fb::Text *meta = impl->file->table().text();
  const fb::SpecialTokens *special = meta ? meta->special() : nullptr;
  if (special && special->add_bos() && special->bos() >= 0 &&
      (ids->empty() || ids->front() != special->bos()))
    ids->insert(ids->begin(), special->bos());
  return ids;
}

/// The most new ids of a request; its own number, or as many as context and pool leave (the last
/// one takes no position).
static int64_t mostTokens(const Request &request, const RequestLimits &limits) {
  if (request.maxTokens >= 0)
    return request.maxTokens;
  int64_t positions = std::min(limits.context, limits.pages * limits.pageTokens);
  return std::max<int64_t>(1, positions - int64_t(request.promptIds.size()) + 1);
}

Result<void> Session::validate(const Request &request) const {
  if (auto checked = checkIds(request.promptIds, 1, impl->limits); !checked)
    return checked.error();
  if (auto checked = checkIds(request.stopIds, 0, impl->limits); !checked)
    return checked.error();
  if (auto checked = request.sampling.check(vocab()); !checked)
    return checked.error();
  if (!request.stopStrings.empty() && !impl->tokenizer)
    return noTokenizer("a stop string");
  if (request.grammar && !impl->tokenizer)
    return noTokenizer("a grammar");
  if (request.maxTokens == 0 || request.maxTokens < -1)
    return badLimit("the number of new tokens is out of range",
                    "asked for " + std::to_string(request.maxTokens) +
                        ", allowed: 1 or more, or -1",
                    "give -n 1 or more, or -n -1 for as many as the context leaves");
  return checkLength(int64_t(request.promptIds.size()), mostTokens(request, impl->limits),
                     impl->limits);
}

Result<RequestId> Session::submit(Request request) {
  if (impl->failure)
    return *impl->failure;
  if (auto checked = validate(request); !checked)
    return checked.error();
  const int64_t maxTokens = mostTokens(request, impl->limits);
  RequestId id = impl->scheduler->add(request.promptIds, maxTokens);
  impl->answers.emplace(id, std::make_unique<Answer>(std::move(request), maxTokens, impl->eos,
                                                     impl->tokenizer.get()));
  return id;
}

Session::Load Session::load() const {
  return {impl->scheduler->running(), impl->scheduler->queued(), impl->kv->pagesInUse(),
          impl->kv->totalPages()};
}

void Session::Impl::endCancelled() {
  for (auto &[id, answer] : answers) {
    if (answer->finished() || !answer->cancelled())
      continue;
    answer->cancel();
    scheduler->finish(id);
  }
}

bool Session::Impl::deviceDraws() {
  sampling.clear();
  if (int64_t(scheduler->rows().size()) > executor->mostDrawnRows())
    return false;
  for (const Scheduler::Row &row : scheduler->rows()) {
    const Answer &answer = *answers.at(row.sequence);
    const SamplingParams &params = answer.sampling();
    sampling.push_back(rowSampling(params));
    if (answer.constrained() || !params.drawnFromLogits() || !executor->draws(sampling.back()))
      return false;
  }
  return !sampling.empty() || executor->draws({});
}

bool Session::Impl::succeeded(const Result<void> &ran) {
  if (ran)
    return true;
  if (ran.error().exit == ExitCode::Internal) { // a bug of the scheduler
    std::fputs(ran.error().format().c_str(), stderr);
    std::abort();
  }
  failure = ran.error();
  for (auto &[id, answer] : answers)
    if (!answer->finished()) {
      answer->cancel();
      scheduler->finish(id);
    }
  return false;
}

bool Session::Impl::runStep(const BatchView &batch) {
  if (!succeeded(executor->step(batch)))
    return false;
  scheduler->complete();
  return true;
}

std::optional<Session::Impl::Rows> Session::Impl::beginSampled(const BatchView &planned) {
  BatchView batch = planned;
  if (std::ranges::any_of(sampling, [](const RowSampling &row) { return row.scale != 0.0; }))
    batch.sampling = sampling.data();
  if (!succeeded(executor->beginSampled(batch)))
    return std::nullopt;
  scheduler->complete();
  auto rows = scheduler->rows();
  return Rows(rows.begin(), rows.end());
}

Answer *Session::Impl::answerOf(const Scheduler::Row &row) {
  auto found = answers.find(row.sequence);
  return found == answers.end() || found->second->finished() ? nullptr : found->second.get();
}

/// While the step with these rows is under way: begins the next, with ids that it will find.
/// An answer that ends with one of them has then been computed a token too far. Its pages may go to
/// another at once: the device does one step after the other, so that whoever gets them writes
/// later.
std::optional<Session::Impl::Rows> Session::Impl::runAhead(const Rows &rows) {
  if (!executor->runsAhead())
    return std::nullopt;
  bool any = false;
  for (size_t i = 0; i < rows.size(); ++i)
    if (Answer *answer = answerOf(rows[i]); answer && answer->mayGoOn()) {
      scheduler->append(rows[i].sequence, ~int32_t(i));
      any = true;
    }
  const BatchView *batch = any ? scheduler->plan() : nullptr;
  if (!batch || !deviceDraws()) // then it is planned again when the ids are there
    return std::nullopt;
  for (const Scheduler::Share &share : scheduler->shares())
    answers.at(share.sequence)->markStarted();
  return beginSampled(*batch);
}

/// Waits for the step under way and gives its ids out; the next may have begun meanwhile.
bool Session::Impl::finishSampled() {
  Rows rows = std::move(*underWay);
  underWay.reset();
  std::optional<Rows> next = runAhead(rows);
  if (failure)
    return false;
  auto ids = executor->endSampled();
  if (!succeeded(ids ? Result<void>() : ids.error()))
    return false;
  for (size_t i = 0; i < rows.size(); ++i) {
    Answer *answer = answerOf(rows[i]);
    if (!answer) // cancelled, or it ended with the id before
      continue;
    if (answer->take((*ids)[i], {}))
      scheduler->append(rows[i].sequence, (*ids)[i]);
    else
      scheduler->finish(rows[i].sequence);
  }
  underWay = std::move(next);
  return true;
}

bool Session::step() {
  impl->endCancelled();
  if (impl->underWay)
    return impl->finishSampled();
  const BatchView *batch = impl->scheduler->plan();
  if (!batch)
    return false;
  for (const Scheduler::Share &share : impl->scheduler->shares())
    impl->answers.at(share.sequence)->markStarted();
  if (impl->deviceDraws()) {
    impl->underWay = impl->beginSampled(*batch);
    return impl->underWay && impl->finishSampled();
  }
  if (!impl->runStep(*batch))
    return false;
  const float *logits = impl->executor->logits(), *maxima = impl->executor->maxima();
  std::span<const Scheduler::Row> rows = impl->scheduler->rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    const Scheduler::Row &row = rows[i];
    Answer &answer = *impl->answers.at(row.sequence);
    auto allowed = answer.allowed();
    if (!allowed) {
      impl->scheduler->finish(row.sequence);
      continue;
    }
    Sampler::Choice choice = impl->sampler->choose(
        logits + int64_t(i) * impl->executor->logitsStride(), answer.sampling(), answer.history(),
        uint64_t(row.position) + 1,
        maxima ? maxima + int64_t(i) * impl->executor->maximaStride() : nullptr, *allowed);
    if (answer.take(choice.id, choice.logprobs))
      impl->scheduler->append(row.sequence, choice.id);
    else
      impl->scheduler->finish(row.sequence);
  }
  return true;
}

void Session::runUntilDone() {
  while (step())
    ;
}

bool Session::started(RequestId id) const {
  auto found = impl->answers.find(id);
  return found != impl->answers.end() && found->second->begun();
}

bool Session::finished(RequestId id) const {
  auto found = impl->answers.find(id);
  return found != impl->answers.end() && found->second->finished();
}

Completion Session::take(RequestId id) {
  auto found = impl->answers.find(id);
  assert(found != impl->answers.end() && found->second->finished());
  Completion completion = found->second->result(impl->loadMs);
  impl->answers.erase(found);
  return completion;
}

Result<void> Session::logits(std::span<const int32_t> ids, const LogitsSink &sink,
                             const std::atomic<bool> *cancel) {
  while (impl->underWay && impl->finishSampled()) // for answers that have ended
    ;
  assert(impl->scheduler->running() == 0 && impl->scheduler->queued() == 0);
  if (impl->failure)
    return *impl->failure;
  if (auto checked = checkIds(ids, 1, impl->limits); !checked)
    return checked;
  if (auto checked = checkLength(int64_t(ids.size()), 0, impl->limits); !checked)
    return checked;
  SequenceId sequence = impl->scheduler->add(ids, 0, /*everyPosition=*/true);
  while (!(cancel && cancel->load(std::memory_order_relaxed))) {
    const BatchView *batch = impl->scheduler->plan();
    if (!batch)
      break;
    if (!impl->runStep(*batch))
      break;
    // The rows of one step are consecutive positions of the one sequence.
    auto rows = impl->scheduler->rows();
    if (!rows.empty())
      sink(rows.front().position, int64_t(rows.size()), impl->executor->logits(),
           impl->executor->logitsStride());
  }
  impl->scheduler->finish(sequence);
  return impl->failure ? Result<void>(*impl->failure) : Result<void>();
}

Result<Score> Session::score(std::span<const int32_t> ids) {
  if (auto checked = checkIds(ids, 2, impl->limits); !checked)
    return checked.error();
  Score score;
  score.nll.reserve(ids.size() - 1);
  double sum = 0;
  // The last id is only ever an answer: its own logits are not needed.
  auto ran = logits(ids.first(ids.size() - 1),
                    [&](int64_t first, int64_t rows, const float *data, int64_t stride) {
                      for (int64_t row = 0; row < rows; ++row, data += stride) {
                        int32_t next = ids[size_t(first + row) + 1];
                        double nll = logSumExp({data, size_t(vocab())}) - double(data[next]);
                        score.nll.push_back(nll);
                        sum += nll;
                      }
                    });
  if (!ran)
    return ran.error();
  score.perplexity = std::exp(sum / double(score.nll.size()));
  return score;
}

void Session::profile(bool on) {
  if (!on)
    impl->executor->stopTrace();
  else if (!impl->executor->trace())
    impl->executor->startTrace(/*keepEvents=*/false);
}

std::vector<Session::KernelTime> Session::kernelTimes() const {
  std::vector<KernelTime> result;
  const Trace *trace = impl->executor->trace();
  if (!trace)
    return result;
  for (size_t kernel = 0; kernel < trace->kernelNames().size(); ++kernel) {
    const Trace::KernelTime &time = trace->kernelTimes()[kernel];
    if (time.launches)
      result.push_back({trace->kernelNames()[kernel], time.seconds, time.launches});
  }
  return result;
}

Result<void> Session::writeTrace() {
  if (impl->traceFile.empty() || !impl->executor->trace())
    return {};
  std::string path = std::move(impl->traceFile);
  impl->traceFile.clear();
  return impl->executor->trace()->writeChromeTrace(path);
}

} // namespace ingot::runtime
