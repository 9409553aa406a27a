//===- KvLayers.cpp - See KvLayers.h ----------------------------------------===//
#include "compiler/options/KvLayers.h"
#include "runtime/error/Suggest.h"

#include <algorithm>
#include <charconv>

using namespace ingot;
using namespace ingot::compiler;
using Kind = LayerRange::Kind;

/// Removes a number from the front of the text and returns it; nothing if there is none or it is too large
/// for any model.
static std::optional<int64_t> takeNumber(std::string_view &text) {
  uint32_t number = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc())
    return std::nullopt;
  text.remove_prefix(size_t(end - text.data()));
  return number;
}

/// Parses "7", "0-3", "28-", "window" or "global".
static std::optional<LayerRange> rangeOf(std::string_view text) {
  LayerRange range;
  range.text = text;
  if (text == "window" || text == "global") {
    range.kind = text == "window" ? Kind::Window : Kind::Global;
    return range;
  }
  const auto first = takeNumber(text);
  if (!first)
    return std::nullopt;
  range.first = *first;
  range.last = *first;
  if (text.empty())
    return range;
  if (!text.starts_with('-'))
    return std::nullopt;
  text.remove_prefix(1);
  range.last = std::nullopt;
  if (text.empty())
    return range;
  range.last = takeNumber(text);
  return range.last && text.empty() && range.first <= *range.last ? std::optional(range)
                                                                  : std::nullopt;
}

static std::string placed(const std::string &place, const std::string &what) {
  return place.empty() ? what : place + ": " + what;
}

Result<KvRule> compiler::kvRule(const std::string &layers, const std::string &format,
                                std::string place) {
  const std::optional<KvFormat> wanted = kvFormatNamed(format);
  if (!wanted)
    return Error{ExitCode::Usage, "E0403",
                 placed(place, "unsupported type of KV cache '" + format + "'"),
                 "types are " + kvFormatNames(isOfAny, "and"),
                 "--kv " + (layers.empty() ? "0-3" : layers) + "=bf16"};
  KvRule rule{{}, "", *wanted, std::move(place)};
  std::string_view rest = layers;
  while (true) {
    std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(one.size());
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    one = one.substr(0, one.find_last_not_of(' ') + 1);
    auto range = rangeOf(one);
    if (!range) {
      const std::string word(one), near = didYouMean(word, {"window", "global"});
      return Error{
          ExitCode::Usage, "E0458", placed(rule.place, "'" + word + "' names no layers"),
          "give a number from 0, a range (0-3, or 28- up to the last), window or global; separate "
          "several with commas",
          near.empty() ? "--kv 0-3,28-=" + format : near};
    }
    rule.layers += (rule.layers.empty() ? "" : ",") + range->text;
    rule.ranges.push_back(std::move(*range));
    if (rest.empty())
      return rule;
    rest.remove_prefix(1);
  }
}

static bool names(const LayerRange &range, int64_t layer, const LayerCache &cache) {
  if (range.kind != Kind::Numbers)
    return (range.kind == Kind::Window) == (cache.window != 0);
  return layer >= range.first && (!range.last || layer <= *range.last);
}

Result<std::vector<std::optional<KvFormat>>>
compiler::askedCaches(const std::vector<KvRule> &rules, const std::vector<LayerCache> &layers) {
  std::vector<std::optional<KvFormat>> asked(layers.size());
  std::vector<const LayerRange *> by(layers.size());
  const auto count = int64_t(layers.size());
  for (const KvRule &rule : rules)
    for (const LayerRange &range : rule.ranges) {
      auto wrong = [&](const std::string &what, const std::string &why, const std::string &fix) {
        return Error{ExitCode::Usage, "E0459", placed(rule.place, what), why, fix};
      };
      if (std::max(range.first, range.last.value_or(0)) >= count)
        return wrong("--kv names layers " + range.text + ", which do not exist",
                     "the model has " + std::to_string(count) + " layers, numbered from 0",
                     count ? "--kv 0-" + std::to_string(count - 1) + "=" +
                                 std::string(kvFormat(rule.format).name)
                           : "omit it");
      bool any = false;
      for (int64_t layer = 0; layer < count; ++layer) {
        const LayerCache &cache = layers[size_t(layer)];
        if (cache.widths.empty() || !names(range, layer, cache))
          continue;
        any = true;
        if (const LayerRange *other = by[size_t(layer)])
          return wrong("the KV cache of layer " + std::to_string(layer) + " is set twice",
                       "by " + other->text + " and by " + range.text,
                       "name each layer once; layers that are not named use --kv T");
        by[size_t(layer)] = &range;
        asked[size_t(layer)] = rule.format;
      }
      if (!any)
        return wrong(range.kind == Kind::Numbers
                         ? "layers " + range.text + " have no KV cache"
                         : "no layer has " + std::string(range.kind == Kind::Window
                                                             ? "windowed attention"
                                                             : "global attention"),
                     range.kind == Kind::Numbers
                         ? "they keep a state of fixed size, or nothing"
                         : "ingot compile MODEL --emit lm shows the attention of each layer",
                     "omit " + range.text);
    }
  return asked;
}

std::string compiler::layersText(const std::vector<int64_t> &layers) {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1)
      ++end;
    text += (text.empty() ? "" : ",") + std::to_string(layers[i]);
    if (end - i > 1)
      text += "-" + std::to_string(layers[end - 1]);
    i = end;
  }
  return text;
}
