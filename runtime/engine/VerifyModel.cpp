//===- VerifyModel.cpp - Checks the parts that programs share --------------===//
//
// Sizes of the model, precision, text artefacts, sampling defaults.
//===----------------------------------------------------------------------===//
#include "runtime/engine/Verify.h"

#include <cmath>

namespace ingot::runtime {

using std::to_string;

static constexpr uint64_t kMostVocab = uint64_t(1) << 28; ///< keeps rows of logits addressable

static bool isSegment(const fb::Engine &engine, int64_t index, fb::SegmentKind kind) {
  return index < int64_t(engine.segments()->size()) &&
         engine.segments()->Get(unsigned(index))->kind() == kind;
}

static Result<void> verifySizes(const fb::Engine &engine, const std::string &name) {
  const fb::Model &m = *engine.model();
  if (m.vocab() == 0 || m.vocab() > kMostVocab || m.hidden() == 0 || m.layers() == 0 ||
      m.context() == 0 || m.context() > INT32_MAX)
    return damaged("E0322", name,
                   "a model of " + to_string(m.vocab()) + " tokens, width " +
                       to_string(m.hidden()) + ", " + to_string(m.layers()) +
                       " layers and context " + to_string(m.context()) + " cannot be run");
  if (engine.precision() > fb::Precision::MAX)
    return damaged("E0323", name,
                   "its precision " + to_string(int(engine.precision())) + " is unknown");
  return {};
}

static Result<void> verifyText(const fb::Engine &engine, const std::string &name) {
  const fb::Text *text = engine.text();
  if (!text)
    return {};
  int tokenizer = text->tokenizer_segment(), chat = text->chat_template_segment();
  if (tokenizer < -1 ||
      (tokenizer >= 0 && (!isSegment(engine, tokenizer, fb::SegmentKind::Tokenizer) ||
                          !text->tokenizer_kind() || text->tokenizer_kind()->size() == 0)))
    return damaged("E0375", name,
                   "its tokenizer is not in segment " + to_string(tokenizer) +
                       " or of unknown kind");
  if (chat < -1 || (chat >= 0 && !isSegment(engine, chat, fb::SegmentKind::ChatTemplate)))
    return damaged("E0376", name, "its chat template is not in segment " + to_string(chat));
  for (unsigned i = 0; text->templates() && i < text->templates()->size(); ++i)
    if (const fb::NamedTemplate *one = text->templates()->Get(i);
        !isSegment(engine, one->segment(), fb::SegmentKind::ChatTemplate))
      return damaged("E0376", name,
                     "its chat template " + to_string(i) + " is not in segment " +
                         to_string(one->segment()));
  if (const fb::SpecialTokens *special = text->special()) {
    auto known = [&](int id) { return id >= -1 && id < int64_t(engine.model()->vocab()); };
    bool ok = known(special->bos()) && known(special->pad()) && known(special->unknown());
    for (const auto *ids : {special->eos(), special->prefix(), special->suffix()})
      for (unsigned i = 0; ids && i < ids->size(); ++i)
        ok = ok && ids->Get(i) >= 0 && known(ids->Get(i));
    if (!ok)
      return damaged("E0377", name,
                     "a special token is outside the vocabulary of " +
                         to_string(engine.model()->vocab()));
  }
  return {};
}

static Result<void> verifySampling(const fb::Engine &engine, const std::string &name) {
  const fb::GenerationDefaults *g = engine.generation();
  auto fraction = [](float x) { return x >= 0 && x <= 1; }; // false for NaN
  if (g && !(std::isfinite(g->temperature()) && g->temperature() >= 0 && fraction(g->top_p()) &&
             fraction(g->min_p()) && g->top_k() >= 0 && std::isfinite(g->repetition_penalty()) &&
             g->repetition_penalty() > 0))
    return damaged("E0378", name, "its default sampling parameters are out of range");
  return {};
}

Result<void> verifyModel(const fb::Engine &engine, const std::string &name) {
  for (auto part : {verifySizes, verifyText, verifySampling})
    if (Result<void> ok = part(engine, name); !ok)
      return ok;
  return {};
}

} // namespace ingot::runtime
