//===- TuningRows.h - Measured schedules ----------------------------------===//
//
// A row holds the fastest schedule of one matmul shape on one CPU and replaces the model's choice
// (MatmulCost.h). `ingot tune` writes files of rows, `ingot compile --tuning` reads them:
//
//   {"cpu": {"name": "AMD Zen 5", "vendor": "AuthenticAMD", "family": 26},
//    "rows": [
//     {"level": "avx512", "x": "q8", "weights": ["q4_0 2048x2048"], "pair": false,
//      "tiles": [6, 4, 2, 1], "block": 60, "prefetch": 4096,
//      "measured_us": {"1": 60.1, "512": 9000.5}, "model_us": {"1": 61.0, "512": 9400.1}}]}
//
// level, x, weights and pair are the key: the shape of the matmul, as shapeOf returns it. `model` under
// cpu and the figures in microseconds may be absent. All other fields are required, and unknown fields
// are errors. A row changes time, never bits (MatmulSchedule.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Isa.h"
#include "dialects/kernel/KernelDialect.h"
#include "runtime/error/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace ingot::kernel {
class MatmulOp;
}

namespace ingot::cpu {

/// The properties of a matmul that a schedule depends on.
struct MatmulShape {
  std::string x;                    ///< "q8", "q8x2", "f32", "bf16" (f32 rows that are rounded)
  std::vector<std::string> weights; ///< "q4_0 2048x2048": format, N x K; in the op's order
  bool pair = false;

  bool operator==(const MatmulShape &) const = default;
  /// Returns "q8 x q4_0 2048x2048". Equal consecutive weights are counted, "3 * q4_0 …"; " pair" is appended if set.
  std::string text() const;
};
MatmulShape shapeOf(kernel::MatmulOp op);

/// The CPU that rows were measured on. The vendor is cpuid's string.
struct CpuName {
  std::string name, vendor;
  int64_t family = 0;
  std::optional<int64_t> model; ///< absent: all models of the family
};

struct TuningRow {
  std::string level; ///< "avx512"
  MatmulShape shape;
  std::vector<int64_t> tiles;
  int64_t block = 0, prefetch = 0;
  std::vector<std::pair<int64_t, double>> measured, model; ///< tokens, microseconds
};

struct TuningTable {
  std::string origin; ///< the file's name, which the engine records as the source of a schedule
  CpuName cpu;
  std::vector<TuningRow> rows;

  const TuningRow *find(const MatmulShape &shape, const Isa &isa) const;
  /// Returns the contents of a file of rows, which parseTuningRows reads back.
  std::string text() const;
};

/// Errors, exit 3: E0440 not JSON, E0441 a field that is unknown, missing or of the wrong type,
/// E0442 an invalid schedule, E0443 two rows for one shape. `path` is used for messages and
/// `origin`.
Result<TuningTable> parseTuningRows(llvm::StringRef text, const std::string &path);

/// Returns the row as the attribute that generators read.
kernel::ScheduleAttr scheduleOf(const TuningRow &row, mlir::MLIRContext *context);

} // namespace ingot::cpu
