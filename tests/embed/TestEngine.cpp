//===- TestEngine.cpp - The fake engine with text ----------------------------===//
#include "tests/embed/TestEngine.h"

#include "compiler/text/TextBuild.h"
#include "tests/runtime/device/FakeEngine.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace ingot::test {

static_assert(kTestVocab == kFakeVocab && kTestEos == kFakeEos);

void writeTestEngine(const std::string &path) {
  static constexpr const char *kTemplate =
      "{% for message in messages %}[{{ message['role'] }}]{{ message['content'] }}{% endfor %}"
      "{% if name %}({{ name }}){% endif %}{% if add_generation_prompt %}[assistant]{% endif %}";
  auto made = text::compileTokenizerJson(fakeTokenizerJson());
  if (!made) {
    std::fputs(made.error().format().c_str(), stderr);
    std::exit(1);
  }
  FakeOptions options;
  options.states = true;
  options.tokenizerKind = made->kind;
  options.tokenizerBytes = made->bytes;
  options.addCode = [](fb::EngineT &engine, std::vector<compiler::SegmentSource> &segments) {
    engine.text->chat_template_segment = int32_t(segments.size());
    segments.push_back(compiler::segmentOf(fb::SegmentKind::ChatTemplate, kTemplate));
  };
  const std::string written = writeFakeEngine("embed.ingot", options);
  std::filesystem::copy_file(written, path, std::filesystem::copy_options::overwrite_existing);
  std::remove(written.c_str());
}

std::vector<int32_t> expectedIds(const std::vector<int32_t> &prompt, int64_t count,
                                 bool stopAtEos) {
  return fakeGreedy(prompt, count, stopAtEos);
}
std::vector<int32_t> testPrompt(int64_t length, int seed) { return fakePrompt(length, seed); }
std::vector<float> expectedLogits(const std::vector<int32_t> &ids) { return fakeLogits(ids); }

} // namespace ingot::test
