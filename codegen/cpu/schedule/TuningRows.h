//===- TuningRows.h - Schedules that were measured ------------------------===//
//
// A row says which schedule was fastest for one shape of matmul on one CPU; it takes the place of
// the model's choice (MatmulCost.h). `ingot tune` writes files of rows, `ingot compile --tuning` reads them:
//
//   {"cpu": {"name": "AMD Zen 5", "vendor": "AuthenticAMD", "family": 26},
//    "rows": [
//     {"level": "avx512", "x": "q8", "weights": ["q4_0 2048x2048"], "pair": false,
//      "tiles": [6, 4, 2, 1], "block": 60, "prefetch": 4096,
//      "measured_us": {"1": 60.1, "512": 9000.5}, "model_us": {"1": 61.0, "512": 9400.1}}]}
//
// level, x, weights and pair are the key: what is multiplied, as shapeOf says it. `model` under cpu
// and the measured figures may be absent; nothing else may, and nothing else may be there. A row
// changes time, never bits (MatmulSchedule.h).
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

/// The problem of a matmul as far as a schedule depends on it.
struct MatmulShape {
  std::string x;                    ///< "q8", "q8x2", "f32", "bf16" (f32 rows that are rounded)
  std::vector<std::string> weights; ///< "q4_0 2048x2048": format, N x K; in the op's order
  bool pair = false;

  bool operator==(const MatmulShape &) const = default;
  /// "q8 x q4_0 2048x2048", equal weights counted: "3 * q4_0 …"; " pair" behind it.
  std::string text() const;
};
MatmulShape shapeOf(kernel::MatmulOp op);

/// Which CPU rows are of. Vendor as cpuid says it.
struct CpuName {
  std::string name, vendor;
  int64_t family = 0;
  std::optional<int64_t> model; ///< absent: all of the family
};

struct TuningRow {
  std::string level; ///< "avx512"
  MatmulShape shape;
  std::vector<int64_t> tiles;
  int64_t block = 0, prefetch = 0;
  std::vector<std::pair<int64_t, double>> measured, model; ///< tokens, microseconds
};

struct TuningTable {
  std::string origin; ///< what the engine names as the source of a schedule: the file's name
  CpuName cpu;
  std::vector<TuningRow> rows;

  const TuningRow *find(const MatmulShape &shape, const Isa &isa) const;
  /// As a file of rows: parse() reads it back.
  std::string text() const;
};

/// Errors, exit 3: E0440 no JSON, E0441 a field that is unknown, missing or of the wrong kind,
/// E0442 a schedule that cannot be, E0443 two rows for one shape. `path` is for messages and
/// `origin`.
Result<TuningTable> parseTuningRows(llvm::StringRef text, const std::string &path);

/// The row as the attribute that generators read.
kernel::ScheduleAttr scheduleOf(const TuningRow &row, mlir::MLIRContext *context);

} // namespace ingot::cpu
