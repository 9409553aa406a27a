//===- CompareRows.h - What a launch left, beside what it should have -------===//
//
// One buffer of one launch, in the form that its rows have: numbers within a bound and what their form rounds, ids and
// keys to the bit. Lockstep.h says what is compared with what.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"
#include "runtime/abi/Routes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ingot::compiler {

/// How far one buffer is from what it should be.
struct BufferAgreement {
  std::optional<std::string>
      wrong;          ///< the first value that may not be: "value 3 of row 0 is 1.5 for 1.25 …"
  double largest = 0; ///< against the largest number of a row
  double largestAbsolute = 0;
};

/// Rows that hold numbers, of which each may be off by `allowed` times the largest of its row and by what its form rounds.
BufferAgreement compareNumbers(kernel::RowsType type, int64_t count, const std::byte *expected,
                               const std::byte *found, double allowed);

/// Rows of ids, or of keys (RowForms.h: keyOf), of which one in all may be that of another logit as large within `allowed`;
/// `idsOff` counts them.
BufferAgreement compareWords(kernel::RowsType type, int64_t count, const std::byte *expected,
                             const std::byte *found, double allowed, int64_t &idsOff);

/// What kernel.route leaves: experts, and weights that may be off by `allowed`.
BufferAgreement compareRoutes(RoutesLayout layout, const std::byte *expected,
                              const std::byte *found, double allowed);

/// What kernel.group_routes leaves, and the pairs that it reads: the same.
BufferAgreement compareGroupedRoutes(RoutesLayout layout, const std::byte *expected,
                                     const std::byte *found);

} // namespace ingot::compiler
