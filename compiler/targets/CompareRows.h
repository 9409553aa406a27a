//===- CompareRows.h - Compares a launch's results with expected ones -------===//
//
// These functions compare one buffer of one launch in the encoding of its rows. Numbers may differ by a bound plus the
// rounding of their encoding. Ids and keys must be equal, bit for bit, with one exception (compareWords).
// DifferentialCheck.h defines which buffers are compared.
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
      wrong; ///< the first value that is out of bounds: "value 3 of row 0 is 1.5, expected 1.25
             ///< …"
  double largest = 0; ///< relative to the largest number of the row
  double largestAbsolute = 0;
};

/// Compares rows of values. Each value may differ by `allowed` times the largest value of its row, plus the rounding of
/// its encoding.
BufferAgreement compareNumbers(kernel::ActivationType type, int64_t count,
                               const std::byte *expected, const std::byte *found, double allowed);

/// Compares rows of token ids, or of keys (RowEncodings.h: keyOf). With `allowed` > 0, the logit of a key may have a
/// relative error of `allowed`. In all comparisons together, one key with such a logit may have another token id.
/// `idsOff` counts these keys.
BufferAgreement compareWords(kernel::ActivationType type, int64_t count, const std::byte *expected,
                             const std::byte *found, double allowed, int64_t &idsOff);

/// Compares the results of kernel.route: experts must be equal, and weights may differ by `allowed`.
BufferAgreement compareRoutes(RoutesLayout layout, const std::byte *expected,
                              const std::byte *found, double allowed);

/// Compares the results of kernel.group_routes, and the pairs of rows and experts that it reads. Both must be equal.
BufferAgreement compareGroupedRoutes(RoutesLayout layout, const std::byte *expected,
                                     const std::byte *found);

} // namespace ingot::compiler
