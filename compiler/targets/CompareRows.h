//===- CompareRows.h - Compares a launch's results with expected ones -------===//
//
// Compares one buffer of one launch, in the encoding of its rows: numbers within a bound plus the rounding of
// their encoding, ids and keys bit for bit. DifferentialCheck.h defines what is compared with what.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"
#include "runtime/abi/Routes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ingot::compiler {

/// The difference between a buffer and its expected contents.
struct BufferAgreement {
  std::optional<std::string>
      wrong;          ///< the first value that is out of bounds: "value 3 of row 0 is 1.5 for 1.25
                      ///< …"
  double largest = 0; ///< relative to the largest number of the row
  double largestAbsolute = 0;
};

/// Compares rows of numbers. Each may differ by `allowed` times the largest of its row plus the rounding of
/// its encoding.
BufferAgreement compareNumbers(kernel::ActivationType type, int64_t count,
                               const std::byte *expected, const std::byte *found, double allowed);

/// Compares rows of ids, or of keys (RowEncodings.h: keyOf). In total one key may be that of another logit
/// that is equally large within `allowed`; `idsOff` counts such keys.
BufferAgreement compareWords(kernel::ActivationType type, int64_t count, const std::byte *expected,
                             const std::byte *found, double allowed, int64_t &idsOff);

/// Compares the results of kernel.route: experts must be equal, and weights may differ by `allowed`.
BufferAgreement compareRoutes(RoutesLayout layout, const std::byte *expected,
                              const std::byte *found, double allowed);

/// Compares the results of kernel.group_routes and the pairs that it reads: both must be equal.
BufferAgreement compareGroupedRoutes(RoutesLayout layout, const std::byte *expected,
                                     const std::byte *found);

} // namespace ingot::compiler
