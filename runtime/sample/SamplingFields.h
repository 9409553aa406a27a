//===- SamplingFields.h - The table of sampling fields, and its readers -----===//
//
// Every interface (HTTP, the command line, chats, the C interface) fills an AskedSampling with the
// fields that it was given. Ranges, defaults and the rule that turns sampling on exist only here:
//
//   AskedSampling asked;
//   asked.set(&SamplingParams::topK, 40);
//   SamplingParams params = asked.over(session.defaultSampling());
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sample/SamplingParams.h"

#include <bitset>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>

namespace ingot::runtime {

/// A row of SamplingFields.def, which explains the columns.
struct SamplingField {
  using Member =
      std::variant<float SamplingParams::*, int32_t SamplingParams::*, uint64_t SamplingParams::*>;
  const char *name;
  Member member;
  double least, most;
  bool filter;
  const char *flags, *alias, *help;

  /// Returns whether every interface reads the field in its own way.
  bool apart() const { return !*flags; }
  /// Returns the name with dashes: "top-k".
  std::string dashed() const;
  /// Returns whether a name without leading dashes, such as "temp" or "top-k", is one of the flags.
  bool isCalled(std::string_view shown) const;
  /// Returns whether the value is the default of SamplingParams, which changes no answer.
  bool isOff(const SamplingParams &params) const;
  /// Checks the value. Fails with E0510, which states the range. `shown`: the name for the error.
  Result<void> check(const SamplingParams &params, const std::string &shown) const;
};

inline constexpr SamplingField kSamplingFields[] = {
#define INGOT_SAMPLING_FIELD(name, member, least, most, filter, flags, alias, help)                \
  {#name, &SamplingParams::member, least, most, filter, flags, alias, help},
#include "runtime/sample/SamplingFields.def"
};

/// The sampling fields that a caller has set.
class AskedSampling {
public:
  /// The values that were given, and the biases, which over() adds to its result.
  SamplingParams values;

  template <typename T> void set(T SamplingParams::*member, T value) {
    values.*member = value;
    given.set(rowOf(member));
  }
  bool has(SamplingField::Member member) const { return given[rowOf(member)]; }
  /// Returns `defaults`, overridden by the given fields. A filter without a temperature turns sampling
  /// on (temperature 1). If sampling has no seed, a random one is chosen.
  SamplingParams over(SamplingParams defaults) const;

private:
  static size_t rowOf(SamplingField::Member member);

  std::bitset<std::size(kSamplingFields)> given;
};

} // namespace ingot::runtime
