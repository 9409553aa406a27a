//===- Answer.cpp - Requests and their responses -----------------------------===//
#include "deploy/triton/Answer.h"

#include "deploy/triton/Call.h"
#include "deploy/triton/Model.h"

#include <algorithm>
#include <exception>

namespace ingot::triton {

namespace {
Failure thrown(const char *what) {
  return failure(TRITONSERVER_ERROR_INTERNAL, "E0959", "the request could not be answered",
                 std::string("an exception was thrown: ") + what,
                 "if memory is not short, report it");
}
} // namespace

bool Answer::cancelledByClient() const {
  bool is = false;
  expectFine(TRITONBACKEND_ResponseFactoryIsCancelled(factory, &is), "ResponseFactoryIsCancelled");
  return is;
}

void Answer::start(Model &model, TRITONBACKEND_ModelInstance *instance,
                   TRITONBACKEND_Request *request, uint64_t now) {
  TRITONBACKEND_ResponseFactory *factory = nullptr;
  if (TRITONSERVER_Error *error = TRITONBACKEND_ResponseFactoryNew(&factory, request)) {
    expectFine(error, "ResponseFactoryNew"); // the client cannot be informed
    expectFine(TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL),
               "RequestRelease");
    return;
  }
  std::shared_ptr<Answer> answer;
  Outcome failed;
  try {
    answer = std::make_shared<Answer>(model, instance, request, factory, now);
    failed = answer->enqueue(answer);
  } catch (const std::exception &error) { // thrown before ingot_enqueue, which does not throw
    failed = thrown(error.what());
  }
  if (!answer) { // no memory for the answer
    Answer last(model, instance, request, factory, now);
    last.failed = std::move(failed);
    last.end(/*started=*/false);
  } else if (failed) { // nothing was enqueued, so no output comes
    answer->failed = std::move(failed);
    answer->end(/*started=*/false);
  }
}

Outcome Answer::enqueue(const std::shared_ptr<Answer> &self) {
  const Settings &settings = model.settings();
  Call call;
  if (cancelledByClient()) {
    cancelled = true;
    return ending();
  }
  if (Outcome wrong = wantedOutputs(request, ports))
    return wrong;
  if (Outcome wrong = call.read(request, settings.batched, settings.ignoreUnknownParameters))
    return wrong;
  if (call.streaming && !settings.decoupled)
    return badRequest("E0950", "the model cannot stream",
                      "'stream' is true, and its transaction policy allows one response",
                      "set model_transaction_policy { decoupled: true } in config.pbtxt, or leave "
                      "'stream' out");
  if (Outcome wrong = call.finish(model.executor()))
    return wrong;
  streaming = call.streaming;
  logprobs = call.request.logprobs >= 0;
  echo = call.echo;
  echoedText = std::move(call.echoedText);
  echoedIds = std::move(call.echoedIds);
  call.request.on_output = &Answer::onOutput;
  call.request.user = this;
  model.underWay().add(self);
  uint64_t id = 0;
  ingot_error *error = nullptr;
  if (ingot_enqueue(model.executor(), &call.request, &id, &error)) {
    model.underWay().ending(*this);
    model.underWay().ended(*this);
    return failureOf(IngotErrorPtr(error).get());
  }
  model.underWay().started(*this, id); // the request may have ended already
  return {};
}

void Answer::onOutput(void *user, const ingot_output *output) {
  Answer &answer = *static_cast<Answer *>(user);
  const bool last = output->is_last;
  try {
    answer.take(*output);
  } catch (const std::exception &error) {
    if (!answer.failed)
      answer.failed = thrown(error.what());
  }
  if (last) {
    answer.end(/*started=*/true); // destroys `answer`
    return;
  }
  if (answer.failed || answer.cancelledByClient())
    ingot_cancel(answer.model.executor(), output->request);
}

Part Answer::partOf(const ingot_output &output) {
  Part part;
  const auto [sum, fresh] = sums.try_emplace(output.choice, 0);
  if (echo && fresh) {
    part.text = echoedText;
    part.ids = echoedIds;
    if (logprobs)
      part.logprobs.assign(echoedIds.size(), 0);
  }
  part.logprobSum = sum->second;
  part.append(output);
  sum->second = part.logprobSum;
  return part;
}

void Answer::take(const ingot_output &output) {
  if (output.queue_ms > 0)
    queueMs = output.queue_ms;
  if (output.finish_reason == INGOT_FINISH_CANCELLED)
    cancelled = true;
  if (output.error && !failed)
    failed = failureOf(output.error);
  if (failed || cancelled)
    return;
  if (!streaming) {
    const size_t choice = size_t(output.choice);
    rows.resize(std::max(rows.size(), choice + 1));
    rows[choice] = partOf(output); // without streaming, a choice has only one output
    return;
  }
  Part part = partOf(output);
  if (output.is_last)
    lastPart = std::move(part); // sent as the final response, after the statistics
  else
    failed = send({&part, 1}, 0);
}

/// Returns the error that the final response reports: a failure, or that the request was cancelled.
/// Empty if the request succeeded.
Outcome Answer::ending() const {
  if (failed)
    return failed;
  if (!cancelled)
    return {};
  if (unloading)
    return failure(TRITONSERVER_ERROR_UNAVAILABLE, "E0967", "the request was cancelled",
                   "its model is being unloaded", "send it again when the model is loaded");
  return failure(TRITONSERVER_ERROR_CANCELLED, "E0968", "the request was cancelled",
                 "its client asked for it", "");
}

/// Finishes a request. If it was under way, this destroys `*this`.
void Answer::end(bool started) noexcept {
  if (started)
    model.underWay().ending(*this);
  const bool success = !failed && !cancelled;
  const uint64_t now = steadyNow();
  const uint64_t computing = std::min(now, begun + uint64_t(queueMs * 1e6));
  expectFine(TRITONBACKEND_ModelInstanceReportStatistics(instance, request, success, begun,
                                                         computing, now, now),
             "ModelInstanceReportStatistics");
  if (started)
    expectFine(
        TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, 1, begun, computing, now, now),
        "ModelInstanceReportBatchStatistics");
  try {
    respond();
  } catch (const std::exception &) { // no memory for a response: the client at least sees an end
    expectFine(
        TRITONBACKEND_ResponseFactorySendFlags(factory, TRITONSERVER_RESPONSE_COMPLETE_FINAL),
        "ResponseFactorySendFlags");
  }
  expectFine(TRITONBACKEND_ResponseFactoryDelete(factory), "ResponseFactoryDelete");
  expectFine(TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL),
             "RequestRelease");
  if (started)
    model.underWay().ended(*this);
}

/// Sends the final response.
void Answer::respond() {
  Outcome wrong = ending();
  if (!wrong) {
    const std::span<const Part> all =
        streaming ? std::span<const Part>(&*lastPart, 1) : std::span<const Part>(rows);
    wrong = send(all, TRITONSERVER_RESPONSE_COMPLETE_FINAL);
  }
  if (wrong)
    sendError(*wrong);
}

Outcome Answer::send(std::span<const Part> parts, uint32_t flags) {
  TRITONBACKEND_Response *response = nullptr;
  if (Outcome wrong = taken(TRITONBACKEND_ResponseNewFromFactory(&response, factory)))
    return wrong;
  if (Outcome wrong = writeOutputs(response, ports, parts, model.settings().batched, logprobs)) {
    expectFine(TRITONBACKEND_ResponseDelete(response), "ResponseDelete");
    return wrong;
  }
  expectFine(TRITONBACKEND_ResponseSend(response, flags, nullptr), "ResponseSend");
  return {};
}

void Answer::sendError(const Failure &failure) {
  TRITONBACKEND_Response *response = nullptr;
  if (TRITONSERVER_Error *error = TRITONBACKEND_ResponseNewFromFactory(&response, factory)) {
    expectFine(error, "ResponseNewFromFactory");
    expectFine(
        TRITONBACKEND_ResponseFactorySendFlags(factory, TRITONSERVER_RESPONSE_COMPLETE_FINAL),
        "ResponseFactorySendFlags");
    return;
  }
  const ErrorPtr error(give(failure));
  expectFine(
      TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error.get()),
      "ResponseSend");
}

} // namespace ingot::triton
