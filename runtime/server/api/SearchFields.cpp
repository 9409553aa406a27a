//===- SearchFields.cpp - See SearchFields.h -----------------------------------===//
#include "runtime/server/api/SearchFields.h"

#include "runtime/json/JsonText.h"
#include "runtime/sample/SamplingFields.h"

#include <algorithm>
#include <limits>

namespace ingot::api {

namespace {

using runtime::EarlyStopping;
using runtime::kSamplingFields;
using runtime::SamplingField;
using runtime::SamplingParams;

/// Refuses a field unless its value is in `harmless`.
void onlyTakes(const Fields &body, std::string_view name, std::initializer_list<double> harmless,
               const std::string &why) {
  constexpr double kMost = std::numeric_limits<double>::max();
  if (auto value = body.number(name, -kMost, kMost);
      value && std::ranges::find(harmless, *value) == harmless.end())
    body.fail(name, "is " + runtime::JsonText().value(*value).text() + "; " + why);
}

/// Refuses fields that only affect sampling.
void refuseDraws(const Fields &body, const char *search) {
  const std::string why = std::string("cannot be used with ") + search + ", which does not sample";
  for (const SamplingField &field : kSamplingFields)
    if (const auto *member = std::get_if<float SamplingParams::*>(&field.member)) {
      const double off = double(SamplingParams().**member);
      const double other = *member == &SamplingParams::temperature ? 1 : off; // OpenAI's default
      for (const char *name : {field.name, field.alias})
        if (*name)
          onlyTakes(body, name, {off, other}, why);
    }
}

/// Reads a boolean or "never", as in Hugging Face transformers.
EarlyStopping readEarlyStopping(const Fields &body) {
  auto given = body.element("early_stopping");
  if (!given)
    return EarlyStopping::No;
  if (given->is_bool())
    return given->get_bool().value_unsafe() ? EarlyStopping::Yes : EarlyStopping::No;
  if (!given->is_string() || given->get_string().value_unsafe() != "never")
    body.fail("early_stopping", "must be true, false or \"never\"");
  return EarlyStopping::Never;
}

void checkWidth(const Fields &body, const Generation &out, int64_t width, const char *field) {
  if (const int64_t most = out.model->session().maxSeqs(); width > most)
    body.fail(field, "needs " + std::to_string(width) + " sequences at once; this server runs " +
                         std::to_string(most) + " (--max-seqs)");
}

void readBeams(const Fields &body, Generation &out) {
  runtime::BeamParams beams;
  auto width = body.integer("beam_width", 1, runtime::kMostBeams);
  beams.width = width ? int32_t(*width) : out.choices;
  if (auto penalty =
          body.number("length_penalty", -runtime::kMostLengthPenalty, runtime::kMostLengthPenalty))
    beams.lengthPenalty = *penalty;
  beams.earlyStopping = readEarlyStopping(body);
  refuseDraws(body, "beam search");
  onlyTakes(body, "top_k", {-1, 0}, "cannot be used with beam search, which does not sample");
  if (out.choices > beams.width)
    body.fail("beam_width", "is " + std::to_string(beams.width) + "; n requests " +
                                std::to_string(out.choices) + " answers");
  checkWidth(body, out, beams.width, width ? "beam_width" : "n");
  out.request.beams = beams;
}

void readContrastive(const Fields &body, Generation &out, double alpha) {
  runtime::ContrastiveParams contrastive;
  contrastive.alpha = alpha;
  auto topK = body.integer("top_k", 2, runtime::kMostCandidates);
  if (topK)
    contrastive.topK = int32_t(*topK);
  refuseDraws(body, "contrastive search");
  if (out.choices > 1)
    body.fail("n", "is " + std::to_string(out.choices) + "; a contrastive search has one answer");
  checkWidth(body, out, contrastive.topK, topK ? "top_k" : "penalty_alpha");
  out.request.contrastive = contrastive;
}

/// Refuses fields that a search does not support: rules about tokens, the stop string in the output,
/// max_tokens 0, and log-probabilities of the prompt.
void refuseBesideSearch(const Fields &body, const Generation &out) {
  auto refuse = [&](bool asked, std::string_view name) {
    if (asked)
      body.fail(name, "cannot be given together with a search");
  };
  refuse(!out.request.ids.allowed.empty(), "allowed_token_ids");
  refuse(!out.request.ids.forbidden.empty(), "bad_words");
  refuse(out.request.ids.minTokens > 0, "min_tokens");
  refuse(out.request.showStop, "include_stop_str_in_output");
  refuse(out.request.promptOnly, "max_tokens");
  refuse(body.has("prompt_logprobs"), "prompt_logprobs");
}

} // namespace

void readSearch(const Fields &body, Generation &out) {
  const bool beams = body.boolean("use_beam_search").value_or(false);
  const double alpha = body.number("penalty_alpha", 0, 1).value_or(0); // 0: no search
  if (beams && alpha > 0)
    return body.fail("penalty_alpha", "cannot be given together with use_beam_search");
  if (beams) {
    readBeams(body, out);
  } else {
    const std::string why = "needs use_beam_search to be true";
    onlyTakes(body, "beam_width", {1}, why);
    onlyTakes(body, "length_penalty", {1}, why);
    if (readEarlyStopping(body) != EarlyStopping::No)
      body.fail("early_stopping", why);
  }
  if (alpha > 0)
    readContrastive(body, out, alpha);
  if (beams || alpha > 0)
    refuseBesideSearch(body, out);
  if (beams || alpha > 0) // the checkpoint's default settings are for sampling
    out.request.sampling.temperature = 0;
}

} // namespace ingot::api
