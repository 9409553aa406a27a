//===- KernelText.h - Text builder for CUDA kernels -------------------------===//
//
// A generator appends lines of CUDA C++ and declares variants. Operands have descriptive names: x,
// w0, y0. One walker (`region`) prints the values of regions, scalar by scalar.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaCodegen.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"

namespace ingot::codegen::cuda {

class KernelText {
public:
  explicit KernelText(kernel::FuncOp kernel);

  /// Returns the smallest and the largest number of units (tokens or logits rows) of a step that launches the kernel.
  int64_t leastCount() const { return least; }
  int64_t mostCount() const { return most; }

  /// Adds `#include "header"` of the device library, once per header.
  void include(llvm::StringRef header);
  /// Adds text between the headers and the functions.
  void prelude(llvm::StringRef text) { definitions += text; }
  /// Returns formatText of a format. If it has a grid, adds the grid's entries (gridText) before the functions.
  std::string format(WeightFormat id);
  /// Writes a line at the current indentation. A line that ends in { indents the lines after it. A line
  /// that starts with } ends that indentation.
  template <typename... Args> void line(const char *format, Args &&...args) {
    write(llvm::formatv(format, std::forward<Args>(args)...).str());
  }
  void write(llvm::StringRef text);

  /// Names an operand of the kernel for the text. If it is named again, the first name stays.
  void name(mlir::Value operand, llvm::StringRef name, bool written = false);
  llvm::StringRef nameOf(mlir::Value operand) const;

  /// Starts the `__global__` function of a variant: `KERNEL void __launch_bounds__(threads)
  /// NAME_suffix(operands…, batch) {`
  /// `allRegisters`: ptxas need not leave registers for a second block on the multiprocessor.
  /// `leastBlocks`: blocks of a decode kernel that must fit a multiprocessor (LEAST_BLOCKS of
  /// device/tuning.cuh).
  /// `mapped`: operands for which the function also takes tensor maps, `OPERAND_map`, after the batch.
  CudaVariant &open(llvm::StringRef suffix, uint32_t threads, bool allRegisters = false,
                    llvm::ArrayRef<mlir::Value> mapped = {}, uint32_t leastBlocks = 0);
  void close();
  /// Adds another variant with the function of the last one, for launches of another shape.
  CudaVariant &again() {
    program.variants.push_back(CudaVariant(program.variants.back()));
    return program.variants.back();
  }

  /// Prints the operations of a region with `arguments` as the texts of its arguments, and returns the
  /// texts of the yielded values. `special` renders operations that only the caller handles; if it
  /// returns an empty string, the operation is printed as usual.
  using Texts = llvm::SmallVector<std::string>;
  mlir::FailureOr<Texts> region(mlir::Region &region, llvm::ArrayRef<std::string> arguments,
                                llvm::function_ref<std::string(mlir::Operation *)> special = {});
  /// Prints one elementwise operation as `const float NAME = …;` and returns the name, or the text of
  /// a constant. Returns an empty string if the operation cannot be rendered.
  std::string define(mlir::Operation *op, llvm::ArrayRef<std::string> operands,
                     llvm::function_ref<std::string()> nextName);
  /// Returns one elementwise operation as an expression over texts; empty if it cannot be rendered.
  static std::string expression(mlir::Operation *op, llvm::ArrayRef<std::string> operands);

  CudaProgram finish();

private:
  kernel::LaunchInterface anchor; ///< the anchor op in the kernel's body
  const int64_t least, most;
  CudaProgram program;
  std::string includes, definitions, body;
  int depth = 0;
  llvm::SmallVector<std::string> included;
  llvm::SmallVector<WeightFormat> grids; ///< formats that have their grid entries in `definitions`
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseSet<mlir::Value> writtenOperands;
};

/// Returns a literal that reads back as the same number: `1.0f`, `0x1.99999ap-4f`.
std::string floatText(double value);

/// Returns the device library's type for a format: "Q4_0".
std::string formatText(WeightFormat format);
/// Defines the entries of a format's grid under the name that formatText uses; empty if the format has no grid.
/// A kernel with such a definition must include formats_grid.cuh before it.
std::string gridText(WeightFormat format);
/// Returns the device library's type for a float format in panels (device/matmul_f32.cuh): "PanelF32".
llvm::StringRef panelText(WeightFormat format);

/// Returns the C++ type of an operand's elements: float for f32 rows and vectors, u16 for bf16 rows, u64 for
/// rows of keys, i32 for i32 rows and routes, u8 for matrices and the KV pool.
llvm::StringRef elementText(mlir::Type type);

/// Returns the number of values from one row to the next.
int64_t rowStride(kernel::ActivationType rows);

} // namespace ingot::codegen::cuda
