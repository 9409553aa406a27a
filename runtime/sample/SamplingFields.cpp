//===- SamplingFields.cpp - See SamplingFields.h -----------------------------===//
#include "runtime/sample/SamplingFields.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

namespace ingot::runtime {

/// Writes whole numbers in full, and others with the digits of a float.
static std::string numberText(double value) {
  char text[32];
  const bool whole = std::abs(value) < 1e15 && value == std::trunc(value); // both false for NaN
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.7g", value);
  return text;
}

std::string SamplingField::dashed() const {
  std::string text = name;
  std::ranges::replace(text, '_', '-');
  return text;
}

bool SamplingField::isCalled(std::string_view shown) const {
  return ("," + std::string(flags) + ",").find(",--" + std::string(shown) + ",") !=
         std::string::npos;
}

bool SamplingField::isOff(const SamplingParams &params) const {
  return std::visit([&](auto m) { return params.*m == SamplingParams().*m; }, member);
}

Result<void> SamplingField::check(const SamplingParams &params, const std::string &shown) const {
  const double value = std::visit([&](auto m) { return double(params.*m); }, member);
  // The bounds are rounded to float as the value was. NaN is in no range.
  if (value >= double(float(least)) && value <= double(float(most)))
    return {};
  return Error{ExitCode::Usage, errors::kSamplingRange, "sampling value out of range: " + shown,
               shown + " is " + numberText(value) + ", allowed: " + numberText(least) + " to " +
                   numberText(most),
               "give " + shown + " a value in that range"};
}

size_t AskedSampling::rowOf(SamplingField::Member member) {
  return size_t(std::ranges::find(kSamplingFields, member, &SamplingField::member) -
                std::begin(kSamplingFields));
}

SamplingParams AskedSampling::over(SamplingParams params) const {
  bool filtered = false;
  for (const SamplingField &field : kSamplingFields)
    if (has(field.member)) {
      std::visit([&](auto m) { params.*m = values.*m; }, field.member);
      filtered |= field.filter;
    }
  if (filtered && !has(&SamplingParams::temperature) && params.greedy())
    params.temperature = 1;
  if (params.topK == -1) // vLLM's form of "all"
    params.topK = 0;
  if (!has(&SamplingParams::seed) && !params.greedy())
    params.seed = uint64_t{std::random_device{}()} << 32 | std::random_device{}();
  params.logitBias.insert(params.logitBias.end(), values.logitBias.begin(), values.logitBias.end());
  return params;
}

} // namespace ingot::runtime
