//===- Session.cpp - Stepping, taking answers, logits ---------------------===//
#include "runtime/session/Session.h"

#include "runtime/sample/Softmax.h"
#include "runtime/session/KvSaturation.h"
#include "runtime/session/SessionImpl.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ingot::runtime {

Session::Session(std::unique_ptr<Impl> parts) : impl(std::move(parts)) {}

Session::~Session() {
  // Callers that need to handle a failed write call writeTrace() before.
  if (auto written = writeTrace(); !written)
    std::fputs(written.error().format().c_str(), stderr);
}

const EngineFile &Session::engine() const { return *impl->file; }
const fb::Program &Session::program() const { return impl->executor->program(); }
const text::Tokenizer *Session::tokenizer() const { return impl->tokenizer.get(); }
int64_t Session::vocab() const { return impl->limits.vocab; }
int64_t Session::context() const { return impl->limits.context; }
int64_t Session::mostNewIds(int64_t promptIds) const {
  // The last new token takes no position.
  return std::max<int64_t>(1, impl->limits.mostPositions() - promptIds + 1);
}
int64_t Session::maxSeqs() const { return impl->memory->slots(); }
int Session::threads() const { return impl->executor->threads(); }
std::string_view Session::target() const { return impl->executor->target(); }
std::string Session::device() const { return impl->executor->device(); }
std::string Session::remark() const { return impl->executor->remark(); }
const Error *Session::failure() const { return impl->failure ? &*impl->failure : nullptr; }
const MemoryPlan &Session::memory() const { return impl->executor->memory(); }
double Session::longestStep() const { return impl->longestStep; }
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

bool Session::Impl::succeeded(const Result<void> &ran) {
  if (ran)
    return true;
  if (ran.error().exit == ExitCode::Internal) { // a bug of the scheduler
    std::fputs(ran.error().format().c_str(), stderr);
    std::abort();
  }
  failure = ran.error();
  for (auto &[id, answer] : answers)
    if (!answer->finished())
      cancel(id, *answer);
  endSearches();
  return false;
}

const BatchView *Session::Impl::plan() {
  const BatchView *batch = scheduler->plan(now());
  if (!batch)
    return nullptr;
  for (const Scheduler::Share &share : scheduler->shares()) {
    if (auto search = searchOf.find(share.sequence); search != searchOf.end()) {
      search->second->start(scheduler->cachedTokens(share.sequence));
      continue;
    }
    Answer &answer = *answers.at(share.sequence);
    if (!answer.started()) {
      answer.start(scheduler->cachedTokens(share.sequence));
      if (auto others = choicesOf.find(share.sequence); others != choicesOf.end())
        for (RequestId other : others->second)
          answers.at(other)->start(scheduler->cachedTokens(share.sequence));
    }
    if (answer.wantsProgress())
      answer.reportProgress(scheduler->computedTokens(share.sequence));
  }
  return batch;
}

bool Session::Impl::runStep(const BatchView &batch) {
  double begun = now();
  if (!succeeded(executor->step(batch)))
    return false;
  scheduler->complete();
  lastEnd = now();
  scheduler->observe(scheduler->work(), lastEnd - begun);
  return true;
}

std::optional<Session::Impl::Begun> Session::Impl::beginSampled(const BatchView &planned) {
  BatchView batch = planned;
  double begun = now();
  if (std::ranges::any_of(sampling, [](const RowSampling &row) { return row.scale != 0.0; }))
    batch.sampling = sampling.data();
  if (!succeeded(executor->beginSampled(batch)))
    return std::nullopt;
  scheduler->complete();
  auto rows = scheduler->rows();
  return Begun{Rows(rows.begin(), rows.end()), scheduler->work(), begun};
}

/// Begins the next step while the step with these rows is in flight, with the tokens that the latter will
/// yield. An answer that ends with one of these tokens has then been computed one token too far. Its
/// pages may be reused at once. The device runs one step after the other, so their next owner writes
/// later.
std::optional<Session::Impl::Begun> Session::Impl::runAhead(const Rows &rows) {
  if (!executor->runsAhead())
    return std::nullopt;
  bool any = false;
  for (size_t i = 0; i < rows.size(); ++i)
    if (Answer *answer = answerOf(rows[i]); answer && answer->mayGoOn()) {
      scheduler->append(rows[i].sequence, ~int32_t(i));
      any = true;
    }
  const BatchView *batch = any ? plan() : nullptr;
  if (!batch || !deviceDraws()) // the batch is planned again when the ids are known
    return std::nullopt;
  return beginSampled(*batch);
}

/// Begins the next step if it can, then waits for the step in flight and delivers its tokens.
bool Session::Impl::finishSampled() {
  assert(underWay && "no step has begun");
  const auto [rows, work, begun] = std::move(*underWay);
  underWay.reset();
  std::optional<Begun> next = runAhead(rows);
  if (failure)
    return false;
  auto ids = executor->endSampled();
  if (!succeeded(ids ? Result<void>() : ids.error()))
    return false;
  assert(ids->size() == rows.size() && "the device draws one id for each row");
  double end = now();
  // If the step began before the previous one ended, its time counts from that end.
  scheduler->observe(work, end - std::max(begun, lastEnd));
  lastEnd = end;
  for (size_t i = 0; i < rows.size(); ++i) {
    Answer *answer = answerOf(rows[i]);
    if (!answer) // it was cancelled, or the previous token ended it
      continue;
    if (answer->take((*ids)[i], {}))
      scheduler->append(rows[i].sequence, (*ids)[i]);
    else
      scheduler->finish(rows[i].sequence);
  }
  underWay = std::move(next);
  return true;
}

bool Session::workAhead() {
  if (impl->failure)
    return false;
  if (impl->executor->prepareAhead())
    return true;
  const PageMover *mover = impl->executor->pageMover();
  if (!mover)
    return false;
  uint64_t bytes = 0; // sum of one page of every group
  const KvPool &pages = impl->memory->pages();
  for (size_t g = 0; g < pages.groups(); ++g)
    bytes += mover->pageBytes(g);
  const auto ahead = int64_t(kKvAhead / std::max<uint64_t>(1, bytes));
  std::vector<int64_t> wanted;
  for (size_t g = 0; g < pages.groups(); ++g) {
    const PagePool &pool = pages.pagesOf(g);
    wanted.push_back(std::min(pool.total(), pool.touched() + ahead));
  }
  return impl->executor->takeKvMemory(wanted);
}

bool Session::step() {
  impl->endCancelled();
  if (impl->underWay)
    return impl->finishSampled();
  const BatchView *batch = impl->plan();
  if (!batch)
    return false;
  if (impl->deviceDraws()) {
    impl->underWay = impl->beginSampled(*batch);
    return impl->underWay && impl->finishSampled();
  }
  if (!impl->runStep(*batch))
    return false;
  impl->takeRows();
  return true;
}

ScheduleStats Session::stats() const { return impl->scheduler->stats(); }
uint64_t Session::stateBytesUsed() const { return impl->states->inUse(); }

void Session::runUntilDone() {
  while (step())
    ;
}

bool Session::started(RequestId id) const {
  auto found = impl->answers.find(id);
  return found != impl->answers.end() && found->second->started();
}

bool Session::finished(RequestId id) const {
  auto found = impl->answers.find(id);
  return found != impl->answers.end() && found->second->finished();
}

Completion Session::take(RequestId id) {
  auto found = impl->answers.find(id);
  assert(found != impl->answers.end() && found->second->finished() &&
         "an answer is taken once, after its end");
  Completion completion = found->second->result(impl->loadMs);
  impl->answers.erase(found);
  return completion;
}

Result<void> Session::logits(std::span<const int32_t> ids, const LogitsSink &sink,
                             const std::atomic<bool> *cancel) {
  while (impl->underWay && impl->finishSampled()) // finish steps of answers that have ended
    ;
  assert(impl->scheduler->running() == 0 && impl->scheduler->queued() == 0 &&
         "the rows of a step must all be those of this text");
  if (impl->failure)
    return *impl->failure;
  if (auto checked = checkIds(ids, 1, impl->limits); !checked)
    return checked;
  if (auto checked = checkLength(int64_t(ids.size()), 0, impl->limits); !checked)
    return checked;
  KvSaturation saturation(*impl->executor);
  SequenceId sequence = impl->scheduler->add(ids, 0, /*everyPosition=*/true);
  while (!(cancel && cancel->load(std::memory_order_relaxed))) {
    const BatchView *batch = impl->scheduler->plan();
    if (!batch)
      break;
    if (!impl->runStep(*batch))
      break;
    saturation.afterStep(*batch);
    // The rows of one step are consecutive positions of the single sequence.
    auto rows = impl->scheduler->rows();
    if (!rows.empty())
      sink(rows.front().position, int64_t(rows.size()), impl->executor->logits(),
           impl->executor->logitsStride());
  }
  impl->kvSaturated = saturation.finish();
  impl->scheduler->finish(sequence);
  return impl->failure ? Result<void>(*impl->failure) : Result<void>();
}

Result<Score> Session::score(std::span<const int32_t> ids) {
  if (auto checked = checkIds(ids, 2, impl->limits); !checked)
    return checked.error();
  Score score;
  score.nll.reserve(ids.size() - 1);
  double sum = 0;
  // The last token is only a target, so the logits after it are not needed.
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
  score.kvSaturated = impl->kvSaturated;
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
      result.push_back({trace->kernelNames()[kernel], time.seconds, time.launches,
                        impl->executor->readAhead(kernel)});
  }
  return result;
}

std::vector<Session::ExpertLoad> Session::expertLoads() const {
  std::vector<ExpertLoad> result;
  if (const Trace *trace = impl->executor->trace())
    for (const Trace::ExpertLoad &load : trace->expertLoads())
      result.push_back({load.layer, load.tokens});
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
