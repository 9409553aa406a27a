//===- AnswerStream.cpp - Jobs and common parts of a response --------------===//
#include "runtime/server/api/AnswerStream.h"

#include "runtime/device/Trace.h"
#include "runtime/json/JsonText.h"

#include <cassert>
#include <ctime>
#include <random>

namespace ingot::api {

using runtime::JsonText;

/// The choices of one prompt. Their indices follow the indices of the choices of earlier prompts.
class AnswerStream::PromptJob final : public service::Job {
public:
  PromptJob(std::shared_ptr<AnswerStream> stream, int32_t firstChoice)
      : stream(std::move(stream)), firstChoice(firstChoice),
        open(this->stream->generation.choices) {}
  void take(service::Output &output) override {
    output.choice += firstChoice;
    const bool last = output.kind == service::Output::Kind::End && --open == 0;
    // The stream owns the model, and a failed engine still owns this job. Drop the job's reference to
    // the stream at the end, or the two keep each other alive.
    const std::shared_ptr<AnswerStream> to = last ? std::move(stream) : stream;
    to->take(output);
  }

private:
  std::shared_ptr<AnswerStream> stream;
  int32_t firstChoice, open;
};

AnswerStream::AnswerStream(Generation given, std::shared_ptr<http::Responder> answers)
    : generation(std::move(given)), responder(std::move(answers)) {}

/// Returns the field that a validation error is about; empty: none in particular.
static const char *fieldOf(const Error &error, const Generation &asked) {
  if (error.code == errors::kSamplingRange)
    return "";
  if (asked.request.contrastive &&
      (error.code == errors::kNoHiddenStates || error.code == errors::kSearchBeyondMemory))
    return "penalty_alpha";
  return "prompt";
}

std::optional<ApiError> AnswerStream::submit(std::shared_ptr<AnswerStream> stream,
                                             std::vector<std::vector<int32_t>> prompts,
                                             service::Reservation first, const Post &post,
                                             bool inTurns) {
  const Generation &asked = stream->generation;
  service::Service &service = asked.model->service();
  const runtime::Session &session = service.session();
  std::vector<runtime::ValidatedRequest> requests;
  for (std::vector<int32_t> &prompt : prompts) {
    const auto size = int64_t(prompt.size());
    stream->usage.prompt += size;
    auto valid = requests.empty()
                     ? session.validate(runtime::Request{asked.request, {}, std::move(prompt)},
                                        asked.choices)
                     : session.validate(requests.front(), std::move(prompt));
    if (!valid)
      return promptError(valid.error(), fieldOf(valid.error(), asked), asked, size);
    requests.push_back(std::move(*valid));
  }
  if (auto together = session.validateTogether(requests); !together)
    return apiError(together.error(), fieldOf(together.error(), asked));
  std::vector<service::Reservation> places;
  places.push_back(std::move(first));
  const size_t atOnce = inTurns ? std::min(requests.size(), kMostAtOnce) : requests.size();
  while (places.size() < atOnce) {
    auto place = service.reserve(!inTurns);
    if (!place && inTurns)
      break;
    if (!place)
      return apiError(place.error());
    places.push_back(std::move(*place));
  }
  assert((!inTurns || asked.choices == 1) && "only requests with one choice each take turns");
  stream->noteAsked();
  stream->total = stream->open = int32_t(requests.size()) * asked.choices;
  for (const runtime::ValidatedRequest &request : requests)
    stream->times.insert(
        stream->times.end(), size_t(asked.choices),
        {.prompt = int64_t(request.promptIds().size()), .begun = runtime::nowNanoseconds()});
  stream->later.assign(std::make_move_iterator(requests.rbegin()),
                       std::make_move_iterator(requests.rend() - std::ptrdiff_t(places.size())));

  // All jobs are created before the first is queued, since outputs may arrive at once on the
  // server's thread.
  for (size_t i = 0; i < requests.size(); ++i) {
    auto job = std::make_shared<PromptJob>(stream, int32_t(i) * asked.choices);
    job->name = asked.requestId;
    job->owner = asked.apiKey;
    stream->jobs.push_back(std::move(job));
  }
  const auto jobs = stream->jobs;
  for (size_t i = 0; i < places.size(); ++i) {
    service::Reservation place = std::move(places[i]);
    if (inTurns && i) // only the first prompt counts towards the queue's limit
      place = service.resume();
    auto queued = service.submit(std::move(requests[i]), jobs[i], std::move(place));
    if (queued)
      continue;
    ApiError error = apiError(queued.error());
    if (error.status == 429)
      error.retryAfter = service.retryAfter();
    if (i == 0) {
      stream->jobs.clear(); // each job owns the stream
      return error;
    }
    post([stream, error] { stream->abort(error); }); // other jobs may be writing already
    return std::nullopt;
  }
  post([stream] { stream->start(); });
  return std::nullopt;
}

/// Submits the next prompt in place of one that has been answered.
void AnswerStream::next() {
  if (later.empty() || broken)
    return;
  service::Service &service = generation.model->service();
  runtime::ValidatedRequest request = std::move(later.back());
  later.pop_back();
  auto &job = jobs[jobs.size() - later.size() - 1];
  if (auto queued = service.submit(std::move(request), job, service.resume()); !queued)
    abort(apiError(queued.error()));
}

void AnswerStream::start() {
  if (begun || broken)
    return;
  begun = true;
  // Jobs own the stream, which owns the responder. A callback that owned either would own itself.
  responder->onGone([weak = weak_from_this()] {
    if (auto stream = weak.lock())
      stream->cancelJobs();
  });
  if (!generation.stream)
    return;
  responder->begin(200, contentType(), {{"Cache-Control", "no-cache"}});
  begin();
}

void AnswerStream::cancelJobs() {
  open -= int32_t(later.size()) * generation.choices;
  later.clear();
  for (const auto &job : jobs)
    generation.model->service().cancel(*job);
}

void AnswerStream::close() {
  responder->onGone({});
  jobs.clear();
  later.clear();
}

void AnswerStream::abort(const ApiError &error) {
  if (broken || (begun && open == 0))
    return;
  broken = true;
  cancelJobs();
  if (generation.record)
    generation.record->errorCode = error.code;
  if (begun && generation.stream) {
    failed(error);
  } else {
    http::Headers headers;
    if (error.retryAfter)
      headers.emplace_back("Retry-After", std::to_string(error.retryAfter));
    responder->send(error.status, "application/json", errorText(error), std::move(headers));
  }
  close();
}

void AnswerStream::take(service::Output &output) {
  if (broken)
    return;
  start();
  noteTimes(output);
  if (generation.request.reportProgress && output.choice % generation.choices == 0)
    noteProgress(output);
  if (output.kind == service::Output::Kind::Progress)
    return;
  if (output.kind == service::Output::Kind::Token) {
    reported += output.id >= 0;
    token(output);
    return;
  }
  if (output.kind == service::Output::Kind::Prompt)
    return prompt(output);
  noteEnd(output);
  if (output.error)
    return abort(apiError(*output.error));
  usage.completion += output.newTokens;
  usage.reasoning += output.reasoningTokens;
  if (output.choice % generation.choices == 0)
    usage.cached += output.cachedTokens;
  ended(output);
  next();
  if (--open == 0) {
    finished();
    close();
  }
}

void AnswerStream::noteProgress(const service::Output &output) {
  ChoiceTimes &own = times[size_t(output.choice)];
  const bool done = output.kind != service::Output::Kind::Progress;
  if (done && (output.error || (own.computedAt && own.computed == own.prompt)))
    return;
  own.computed = done ? own.prompt : output.computed;
  own.computedAt = done ? std::max(own.first, own.begun) : output.at;
  progress(output.choice);
}

void AnswerStream::noteTimes(const service::Output &output) {
  ChoiceTimes &own = times[size_t(output.choice)];
  own.cached = std::max(own.cached, output.cachedTokens);
  if (output.times.scheduled)
    own.begun = output.times.scheduled;
  if (output.kind == service::Output::Kind::End) {
    own.predicted = output.newTokens;
    own.last = std::max(own.last, output.times.lastToken);
  } else if (output.kind == service::Output::Kind::Token && output.id >= 0) {
    ++own.predicted;
    own.last = output.times.lastToken;
    own.first = own.first ? own.first : own.last;
  }
}

std::string ChoiceTimes::json() const {
  auto milliseconds = [](uint64_t from, uint64_t to) {
    return to > from ? double(to - from) * 1e-6 : 0.0;
  };
  JsonText json;
  json.open('{').key("cache_n").value(cached);
  auto rate = [&](const std::string &name, int64_t count, double ms, int64_t steps) {
    json.key(name + "_n").value(count).key(name + "_ms").value(ms);
    json.key(name + "_per_token_ms").value(steps > 0 ? ms / double(steps) : 0.0);
    json.key(name + "_per_second").value(steps > 0 && ms > 0 ? double(steps) * 1e3 / ms : 0.0);
  };
  const int64_t done = std::max<int64_t>(0, (first ? prompt : computed) - cached);
  rate("prompt", done, done ? milliseconds(begun, first ? first : computedAt) : 0.0, done);
  rate("predicted", predicted, milliseconds(first, last), predicted - 1);
  return json.close().text();
}

std::string ChoiceTimes::progressJson() const {
  JsonText json;
  json.open('{').key("total").value(prompt).key("cache").value(cached);
  json.key("processed").value(computed).key("time_ms");
  json.value(computed > cached && computedAt > begun ? double(computedAt - begun) * 1e-6 : 0.0);
  return json.close().text();
}

/// Records the settings that are known before the engine sees the request.
void AnswerStream::noteAsked() const {
  if (!generation.record)
    return;
  observe::RequestRecord &record = *generation.record;
  const runtime::RequestSettings &request = generation.request;
  record.promptTokens = usage.prompt;
  record.choices = generation.choices;
  record.stream = generation.stream;
  record.maxTokens = request.maxTokens;
  record.temperature = double(request.sampling.temperature);
  record.topP = double(request.sampling.topP);
  record.topK = request.sampling.topK;
}

/// Records the end of a choice. A response's times are the earliest scheduled and first-token times
/// and the latest last-token time of its jobs.
void AnswerStream::noteEnd(const service::Output &output) const {
  if (!generation.record)
    return;
  observe::RequestRecord &record = *generation.record;
  auto earliest = [](uint64_t &kept, uint64_t time) {
    if (time && (!kept || time < kept))
      kept = time;
  };
  earliest(record.scheduled, output.times.scheduled);
  earliest(record.firstToken, output.times.firstToken);
  record.lastToken = std::max(record.lastToken, output.times.lastToken);
  record.newTokens += output.newTokens;
  if (output.choice % generation.choices == 0)
    record.cachedTokens += output.cachedTokens;
  if (output.error)
    record.errorCode = output.error->code;
  else
    record.finishReasons.push_back(output.reason == runtime::FinishReason::Cancelled
                                       ? "cancelled"
                                       : finishReason(output.reason));
}

void AnswerStream::failed(const ApiError &error) {
  event(errorText(error));
  responder->finish();
}

std::string AnswerStream::listHead(std::string_view idPrefix, std::string_view object) const {
  runtime::JsonText json;
  json.open('{').key("id").value(newId(idPrefix)).key("object").value(object);
  json.key("created").value(int64_t(std::time(nullptr)));
  json.key("model").value(generation.model->name());
  json.key("system_fingerprint");
  json.value(generation.llamaCpp ? llamaBuild(*generation.model) : generation.model->fingerprint());
  json.key("choices");
  return json.text();
}

std::string AnswerStream::chunkEnd() const {
  if (!generation.includeUsage)
    return "}";
  if (!generation.continuousUsage)
    return ",\"usage\":null}";
  Usage now = usage;
  now.completion = reported;
  return ",\"usage\":" + usageJson(now) + "}";
}

void AnswerStream::finishList(const std::string &head, std::string_view choices) {
  if (!generation.stream) {
    std::string body = head;
    body.append(choices)
        .append(moreMembers)
        .append(",\"usage\":")
        .append(usageJson(usage))
        .append("}");
    return responder->send(200, "application/json", std::move(body));
  }
  if (generation.includeUsage)
    event(head + "[]" + moreMembers + ",\"usage\":" + usageJson(usage) + "}");
  event("[DONE]");
  responder->finish();
}

void AnswerStream::event(std::string_view data, std::string_view name) {
  std::string text;
  text.reserve(data.size() + name.size() + 24);
  if (!name.empty())
    text.append("event: ").append(name).append("\n");
  text.append("data: ").append(data).append("\n\n");
  responder->write(std::move(text));
}

StopCause AnswerStream::stopOf(const service::Output &output) const {
  const auto &own = generation.request.stopIds;
  return {output.stopString, output.stopId, std::ranges::find(own, output.stopId) != own.end()};
}

void stopJson(runtime::JsonText &json, const StopCause &stop) {
  auto member = [&](const char *name, bool withId) {
    json.key(name);
    if (!stop.text.empty())
      json.value(stop.text);
    else if (withId && stop.id >= 0)
      json.value(stop.id);
    else
      json.raw("null");
  };
  member("stop_reason", stop.ownId);
  member("matched_stop", true);
}

std::string llamaBuild(const service::ServedModel &model) {
  const std::string &print = model.fingerprint(); // "fp_…"
  return "b0-" + print.substr(print.find('_') + 1);
}

const char *finishReason(runtime::FinishReason reason) {
  return reason == runtime::FinishReason::Length ? "length" : "stop";
}

std::string newId(std::string_view prefix) {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string id(prefix);
  for (int word = 0; word < 2; ++word) {
    uint64_t bits = generator();
    for (int i = 0; i < 12; ++i, bits >>= 4)
      id += kDigits[bits & 15];
  }
  return id;
}

std::string usageJson(const Usage &usage) {
  runtime::JsonText json;
  json.open('{').key("prompt_tokens").value(usage.prompt);
  json.key("completion_tokens").value(usage.completion);
  json.key("total_tokens").value(usage.prompt + usage.completion);
  json.key("prompt_tokens_details").open('{').key("cached_tokens").value(usage.cached).close();
  if (usage.reasoning)
    json.key("completion_tokens_details")
        .open('{')
        .key("reasoning_tokens")
        .value(usage.reasoning)
        .close();
  return json.close().text();
}

} // namespace ingot::api
