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
  if (request.pooling != Pooling::None)
    return 1; // its positions are the prompt's
  if (request.maxTokens >=
      0) // far beyond every context is as good as more: sums shall not overflow
    return std::min(request.maxTokens, int64_t(1) << 40);
  return std::max<int64_t>(1, limits.mostPositions() - int64_t(request.promptIds.size()) + 1);
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
  if (request.pooling != Pooling::None && !impl->executor->hiddenSize())
    return Error{ExitCode::Usage, "E0522", "this engine does not tell hidden states",
                 "it was compiled for a GPU, or before format 1.5",
                 "compile the checkpoint again: ingot compile MODEL -o E"};
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
  auto ids = submit(std::move(request), 1);
  if (!ids)
    return ids.error();
  return ids->front();
}

Result<std::vector<RequestId>> Session::submit(Request request, int32_t choices) {
  if (impl->failure)
    return *impl->failure;
  if (auto checked = validate(request); !checked)
    return checked.error();
  if (choices < 1 || choices > kMostChoices)
    return badLimit("the number of choices is out of range",
                    "asked for " + std::to_string(choices) + ", allowed: 1 to " +
                        std::to_string(kMostChoices),
                    "ask for fewer");
  const int64_t maxTokens = mostTokens(request, impl->limits);
  if (request.onLogits)
    impl->editedRow.resize(size_t(vocab())); // here, since a step must not run out of memory
  SequenceOptions options;
  options.maxNew = maxTokens;
  options.priority = request.priority;
  options.user = request.user;
  options.cachePrefix = request.cachePrefix;
  options.cacheSalt = request.cacheSalt;
  options.everyPosition = request.pooling == Pooling::Mean;
  options.arrival = Impl::now();
  std::vector<RequestId> ids{impl->scheduler->add(request.promptIds, options)};
  while (int64_t(ids.size()) < choices)
    ids.push_back(impl->scheduler->reserveId());
  auto answerOf = [&](Request given) {
    return std::make_unique<Answer>(std::move(given), maxTokens, impl->eos, impl->tokenizer.get());
  };
  for (size_t i = 1; i < ids.size(); ++i) {
    Request other = request;
    other.sampling.choice += uint32_t(i);
    auto answer = answerOf(std::move(other));
    answer->scheduled = false;
    impl->answers.emplace(ids[i], std::move(answer));
  }
  if (choices > 1)
    impl->choicesOf.emplace(ids[0], std::vector(ids.begin() + 1, ids.end()));
  impl->answers.emplace(ids[0], answerOf(std::move(request)));
  return ids;
}

void Session::Impl::cancel(RequestId id, Answer &answer) {
  answer.cancel();
  if (answer.scheduled)
    scheduler->finish(id);
  answer.scheduled = false;
  if (auto others = choicesOf.extract(id))
    for (RequestId other : others.mapped()) // they have the same flag, or the same failure
      if (Answer &one = *answers.at(other); !one.finished())
        cancel(other, one);
}

void Session::Impl::endCancelled() {
  for (auto &[id, answer] : answers)
    if (!answer->finished() && answer->cancelled())
      cancel(id, *answer);
}

bool Session::Impl::deviceDraws() {
  sampling.clear();
  if (int64_t(scheduler->rows().size()) > executor->mostDrawnRows())
    return false;
  for (const Scheduler::Row &row : scheduler->rows()) {
    if (!choicesOf.empty() && choicesOf.contains(row.sequence))
      return false; // several ids of one row
    const Answer &answer = *answers.at(row.sequence);
    const SamplingParams &params = answer.sampling();
    sampling.push_back(rowSampling(params));
    if (answer.pooled() || answer.constrained() || answer.editsLogits() ||
        !params.drawnFromLogits() || !executor->draws(sampling.back()))
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
    if (!answer->finished())
      cancel(id, *answer);
  return false;
}

const BatchView *Session::Impl::plan() {
  const BatchView *batch = scheduler->plan(now());
  if (!batch)
    return nullptr;
  for (const Scheduler::Share &share : scheduler->shares()) {
    Answer &answer = *answers.at(share.sequence);
    if (answer.started())
      continue;
    answer.start(scheduler->cachedTokens(share.sequence));
    if (auto others = choicesOf.find(share.sequence); others != choicesOf.end())
      for (RequestId other : others->second)
        answers.at(other)->start(scheduler->cachedTokens(share.sequence));
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

const float *Session::Impl::drawnFrom(const float *row, const Answer &answer) {
  if (!answer.editsLogits())
    return row;
  std::copy_n(row, editedRow.size(), editedRow.begin());
  answer.editLogits(editedRow);
  return editedRow.data();
}

Answer *Session::Impl::answerOf(const Scheduler::Row &row) {
  auto found = answers.find(row.sequence);
  return found == answers.end() || found->second->finished() ? nullptr : found->second.get();
}

/// While the step with these rows is under way: begins the next, with ids that it will find.
/// An answer that ends with one of them has then been computed a token too far. Its pages may go to
/// another at once: the device does one step after the other, so that whoever gets them writes
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
  if (!batch || !deviceDraws()) // then it is planned again when the ids are there
    return std::nullopt;
  return beginSampled(*batch);
}

/// Waits for the step under way and gives its ids out; the next may have begun meanwhile.
bool Session::Impl::finishSampled() {
  const auto [rows, work, begun] = std::move(*underWay);
  underWay.reset();
  std::optional<Begun> next = runAhead(rows);
  if (failure)
    return false;
  auto ids = executor->endSampled();
  if (!succeeded(ids ? Result<void>() : ids.error()))
    return false;
  double end = now();
  scheduler->observe(work, end - std::max(begun, lastEnd)); // it may have waited for the one before
  lastEnd = end;
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

/// The first logits of a request are those of all its choices.
void Session::Impl::drawRow(const Scheduler::Row &row, int64_t index) {
  if (Answer &answer = *answers.at(row.sequence); answer.pooled()) {
    hidden.resize(size_t(executor->hiddenSize()));
    executor->hiddenState(index, hidden.data());
    if (!answer.pool(hidden, row.position))
      scheduler->finish(row.sequence);
    return;
  }
  const float *logits = executor->logits() + index * executor->logitsStride();
  const float *maxima =
      executor->maxima() ? executor->maxima() + index * executor->maximaStride() : nullptr;
  auto draw = [&](Answer &answer) { // -1: it has ended
    auto allowed = answer.allowed();
    if (!allowed)
      return -1;
    const float *drawn = drawnFrom(logits, answer);
    Sampler::Choice choice =
        sampler->choose(drawn, answer.sampling(), answer.history(), uint64_t(row.position) + 1,
                        drawn == logits ? maxima : nullptr, *allowed); // an edited row has others
    return answer.take(choice.id, choice.logprobs) ? choice.id : -1;
  };
  if (auto others = choicesOf.find(row.sequence); others != choicesOf.end()) {
    for (RequestId other : others->second) {
      Answer &answer = *answers.at(other);
      int32_t id = answer.finished() ? -1 : draw(answer);
      if (id < 0)
        continue;
      answer.scheduled = true;
      scheduler->fork(row.sequence, other);
      scheduler->append(other, id);
    }
    choicesOf.erase(others);
  }
  int32_t id = draw(*answers.at(row.sequence));
  if (id >= 0)
    scheduler->append(row.sequence, id);
  else
    scheduler->finish(row.sequence);
}

bool Session::takeKvAhead() {
  const PageMover *pages = impl->executor->pageMover();
  if (!pages)
    return false;
  uint64_t bytes = 0; // of a page of every group
  for (size_t g = 0; g < impl->kv->groups(); ++g)
    bytes += pages->pageBytes(g);
  const auto ahead = int64_t(kKvAhead / std::max<uint64_t>(1, bytes));
  std::vector<int64_t> wanted;
  for (size_t g = 0; g < impl->kv->groups(); ++g) {
    const PagePool &pool = impl->kv->pagesOf(g);
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
  const auto rows = impl->scheduler->rows();
  for (size_t i = 0; i < rows.size(); ++i)
    impl->drawRow(rows[i], int64_t(i));
  return true;
}

ScheduleStats Session::stats() const { return impl->scheduler->stats(); }

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
