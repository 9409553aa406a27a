//===- KernelText.h - The vocabulary that GPU generators are written in -----===//
//
// A generator appends lines of CUDA C++ and declares variants. Operands have names that say what
// they are: x, w0, y0; values of regions are printed by one walker (`region`), scalar by scalar.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaCodegen.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"

namespace ingot::cuda {

class KernelText {
public:
  explicit KernelText(kernel::FuncOp kernel);

  /// The smallest and the largest number of units of steps that launch the kernel.
  int64_t leastCount() const { return least; }
  int64_t mostCount() const { return most; }

  /// `#include "header"` of the device library, once.
  void include(llvm::StringRef header);
  /// What stands between the headers and the functions.
  void prelude(llvm::StringRef text) { definitions += text; }
  /// A line at the present indentation; lines that end in { indent, lines that start with } go
  /// back.
  template <typename... Args> void line(const char *format, Args &&...args) {
    write(llvm::formatv(format, std::forward<Args>(args)...).str());
  }
  void write(llvm::StringRef text);

  /// Names an operand of the kernel for the text; in_place operands may have several names.
  void name(mlir::Value operand, llvm::StringRef name, bool written = false);
  llvm::StringRef nameOf(mlir::Value operand) const;

  /// Starts the `__global__` function of a variant: `KERNEL void __launch_bounds__(threads)
  /// NAME_suffix(operands…, batch) {` allRegisters: ptxas need not save any for a second block on
  /// the processor.
  /// `leastBlocks`: so many of a decode kernel must fit a processor (LEAST_BLOCKS of
  /// device/knobs.cuh).
  /// `mapped`: operands that it also gets tensor maps of, `OPERAND_map`, behind the batch.
  CudaVariant &open(llvm::StringRef suffix, uint32_t threads, bool allRegisters = false,
                    llvm::ArrayRef<mlir::Value> mapped = {}, uint32_t leastBlocks = 0);
  void close();
  /// The function of the last variant once more, for launches of another shape.
  CudaVariant &again() {
    program.variants.push_back(CudaVariant(program.variants.back()));
    return program.variants.back();
  }

  /// Prints the operations of a region, its arguments being `arguments`, and returns the texts of
  /// what it yields. `special` renders operations that only the caller knows; an empty text is an
  /// error.
  using Texts = llvm::SmallVector<std::string>;
  mlir::FailureOr<Texts> region(mlir::Region &region, llvm::ArrayRef<std::string> arguments,
                                llvm::function_ref<std::string(mlir::Operation *)> special = {});
  /// Prints one elementwise operation as `const float NAME = …;` and returns the name (of a
  /// constant: its text); empty if there is no rendering.
  std::string define(mlir::Operation *op, llvm::ArrayRef<std::string> operands,
                     llvm::function_ref<std::string()> nextName);
  /// One elementwise operation as an expression over texts; empty if there is none.
  static std::string expression(mlir::Operation *op, llvm::ArrayRef<std::string> operands);

  CudaProgram finish();

private:
  kernel::LaunchInterface anchor; ///< in the body of the kernel
  const int64_t least, most;
  CudaProgram program;
  std::string includes, definitions, body;
  int depth = 0;
  llvm::SmallVector<std::string> included;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseSet<mlir::Value> writtenOperands;
};

/// `1.0f`, `0x1.99999ap-4f`: reads back as the same number.
std::string floatText(double value);

/// The type of the device library's formats: "Q4_0".
std::string formatText(WeightFormat format);
/// The same of a float format in panels (device/matmul_f32.cuh): "PanelF32".
llvm::StringRef panelText(WeightFormat format);

/// C++ type of an operand's elements: float for f32 rows and vectors, u16 for bf16 rows, i32 for
/// routes, u8 for matrices and the KV pool.
llvm::StringRef elementText(mlir::Type type);

/// Values from one row to the next.
int64_t rowStride(kernel::RowsType rows);

} // namespace ingot::cuda
