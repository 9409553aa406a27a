//===- WeightSummary.cpp - See WeightSummary.h ----------------------------===//
#include "runtime/engine/WeightSummary.h"

#include "runtime/engine/Program.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ingot::runtime {

const char *layoutName(fb::WeightLayout layout) {
  switch (layout) {
  case fb::WeightLayout::Panel32:
    return "cpu-panel32";
  case fb::WeightLayout::Fragment16:
    return "gpu-frag16";
  case fb::WeightLayout::VectorF32:
    break;
  }
  return "vector-f32";
}

std::vector<FormatSummary> weightsByFormat(const EngineFile &engine) {
  std::map<std::pair<std::string, std::string>, FormatSummary> sums;
  for (const fb::Program *program : *engine.table().programs())
    for (const fb::Weight *w : *program->weights()) {
      FormatSummary &sum = sums[{w->format()->str(), layoutName(w->layout())}];
      uint64_t elements = 1;
      for (uint64_t n : *w->shape())
        elements *= n;
      sum.tensors += 1;
      sum.elements += elements;
      sum.bytes += w->size();
    }
  std::vector<FormatSummary> list;
  for (auto &[key, sum] : sums) {
    std::tie(sum.format, sum.layout) = key;
    list.push_back(sum);
  }
  std::sort(list.begin(), list.end(), [](const auto &a, const auto &b) {
    return std::tie(b.bytes, a.format, a.layout) < std::tie(a.bytes, b.format, b.layout);
  });
  return list;
}

/// Returns the name, with each component that is a number replaced by '*'.
static std::string roleOf(std::string_view name) {
  std::string role;
  while (!name.empty()) {
    std::string_view part = name.substr(0, name.find('.'));
    bool number = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    role += number ? "*" : std::string(part);
    name.remove_prefix(part.size());
    if (!name.empty()) {
      role += '.';
      name.remove_prefix(1);
    }
  }
  return role;
}

std::vector<RoleSummary> weightsByRole(const EngineFile &engine) {
  std::vector<RoleSummary> list;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> places;
  for (const fb::Weight *w : *engine.table().programs()->Get(0)->weights()) {
    std::string shape;
    for (uint64_t n : *w->shape())
      shape += (shape.empty() ? "" : "x") + std::to_string(n);
    std::tuple key(roleOf(w->name()->string_view()), w->format()->str(), shape);
    auto [place, added] = places.try_emplace(key, list.size());
    if (added)
      list.push_back({std::get<0>(key), std::get<1>(key), shape});
    list[place->second].tensors += 1;
    list[place->second].bytes += w->size();
  }
  return list;
}

} // namespace ingot::runtime
