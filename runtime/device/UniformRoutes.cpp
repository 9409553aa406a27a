//===- UniformRoutes.cpp - See UniformRoutes.h ----------------------------===//
#include "runtime/device/UniformRoutes.h"

#include "runtime/abi/Routes.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace ingot::runtime {

bool findsRoutes(const fb::Kernel &kernel) {
  return kernel.family() && (kernel.family()->string_view() == "route" ||
                             kernel.family()->string_view() == "group_routes");
}

std::vector<std::byte> uniformRoutes(int64_t experts, int64_t used, int64_t tokens) {
  assert(used >= 0 && used <= experts && "a token has distinct experts");
  const RoutesLayout layout{tokens * used};
  std::vector<int32_t> expert(static_cast<size_t>(layout.pairs)), row(expert.size()),
      token(expert.size());
  std::vector<int32_t> counts(static_cast<size_t>(experts));
  for (int64_t t = 0; t < tokens; ++t) {
    auto first = expert.begin() + t * used;
    for (int64_t i = 0; i < used; ++i)
      ++counts[static_cast<size_t>(first[i] = int32_t((t * used + i) % experts))];
    std::sort(first, first + used);
  }
  std::vector<RouteSegment> segments;
  std::vector<int32_t> next(counts.size());
  for (int32_t e = 0, end = 0; e < int32_t(experts); ++e) {
    next[size_t(e)] = end;
    end += counts[size_t(e)];
    if (counts[size_t(e)])
      segments.push_back({e, next[size_t(e)], end});
  }
  for (size_t pair = 0; pair < expert.size(); ++pair) {
    row[pair] = next[size_t(expert[pair])]++;
    token[size_t(row[pair])] = int32_t(pair / size_t(used));
  }
  const std::vector<float> weight(expert.size(), 1.0f / float(used));
  const auto count = int32_t(segments.size());
  std::vector<std::byte> buffer(static_cast<size_t>(routesBytes(used) * tokens));
  auto put = [&](int64_t at, const void *from, size_t bytes) {
    assert(size_t(at) + bytes <= buffer.size() && "routesBytes() is too small");
    std::memcpy(buffer.data() + at, from, bytes);
  };
  put(layout.expert(), expert.data(), 4 * expert.size());
  put(layout.weight(), weight.data(), 4 * weight.size());
  put(layout.row(), row.data(), 4 * row.size());
  put(layout.token(), token.data(), 4 * token.size());
  put(layout.count(), &count, sizeof count);
  put(layout.segments(), segments.data(), sizeof(RouteSegment) * segments.size());
  return buffer;
}

} // namespace ingot::runtime
