//===- Experts.cpp - See Experts.h -------------------------------------------===//
#include "tools/ingot/inspect/Experts.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Program.h"
#include "tools/files/Json.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ingot::cli {

namespace {

using Load = runtime::Session::ExpertLoad;

constexpr size_t kBusiest = 6; ///< number of experts that are listed

Error none(const std::string &why) {
  return {ExitCode::Usage, "E0567", "there are no experts to count", why,
          "give an engine of a mixture-of-experts model"};
}

/// Returns the number of experts over which an even load would have the same entropy; all experts
/// if the load is even.
double effective(const std::vector<uint64_t> &tokens, double total) {
  double entropy = 0;
  for (uint64_t count : tokens)
    if (count)
      entropy -= static_cast<double>(count) / total * std::log(static_cast<double>(count) / total);
  return std::exp(entropy);
}

std::string row(const Load &load) {
  const auto total =
      static_cast<double>(std::accumulate(load.tokens.begin(), load.tokens.end(), uint64_t(0)));
  std::vector<size_t> order(load.tokens.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t e) { return load.tokens[e]; });
  const auto met = std::ranges::count_if(load.tokens, [](uint64_t n) { return n > 0; });
  std::string busiest;
  for (size_t i = 0; i < std::min(kBusiest, order.size()); ++i)
    busiest += formatted("%s%zu: %.1f %%", i ? ", " : "", order[i],
                         100 * static_cast<double>(load.tokens[order[i]]) / total);
  return formatted("%5d %9td %10.1f  ", load.layer, met, effective(load.tokens, total)) + busiest +
         "\n";
}

std::string json(const std::vector<Load> &loads, uint64_t used, uint64_t tokens) {
  std::string layers;
  for (const Load &load : loads)
    layers += (layers.empty() ? "" : ",") +
              JsonObject().field("layer", load.layer).field("tokens", load.tokens).str();
  return JsonObject()
             .field("experts", loads.front().tokens.size())
             .field("used", used)
             .field("tokens", tokens)
             .raw("layers", "[" + layers + "]")
             .str() +
         "\n";
}

} // namespace

Result<int> experts(const std::string &path, const std::string &text, const CommonOptions &common,
                    const LimitOptions &limits) {
  const EngineOptions options = quietly(path, common, limits);
  runtime::SessionOptions wanted;
  wanted.prefixCache = false;
  wanted.context = limits.context;
  auto session = options.open(path, wanted);
  if (!session)
    return session.error();
  auto ids = (*session)->tokenizer() ? (*session)->encodePrompt(text)
                                     : parseIds("[" + text + "]", "--experts");
  if (!ids)
    return ids.error();
  (*session)->profile(true);
  if (auto ran = (*session)->logits(*ids, [](int64_t, int64_t, const float *, int64_t) {}); !ran)
    return ran.error();
  const std::vector<Load> loads = (*session)->expertLoads();
  if (loads.empty())
    return none("no layer of " + path + " has any");
  const uint64_t sent =
      std::accumulate(loads[0].tokens.begin(), loads[0].tokens.end(), uint64_t(0));
  const uint64_t used = sent / std::max<uint64_t>(ids->size(), 1);
  if (common.json) {
    emit(json(loads, used, ids->size()));
    return options.close(**session);
  }
  emit(grouped(ids->size()) + " tokens, each to " + std::to_string(used) + " of " +
       std::to_string(loads[0].tokens.size()) + " experts of " + std::to_string(loads.size()) +
       " layers\n\nlayer      used  effective  busiest, share of all tokens\n");
  for (const Load &load : loads)
    emit(row(load));
  emit("\nused: experts that received any tokens; effective: the number of evenly loaded experts "
       "with the same concentration\n");
  return options.close(**session);
}

} // namespace ingot::cli
