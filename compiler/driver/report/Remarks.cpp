//===- Remarks.cpp - See Remarks.h ----------------------------------------===//
#include "compiler/driver/report/Remarks.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using remark::detail::MLIRRemarkStreamerBase;
using remark::detail::Remark;

namespace {

/// Writes one object per line, for programs:
/// {"result":"missed","fusion":"gate_up","function":"layer","op":"lm.mul","reason":…}.
class JsonRemarks : public MLIRRemarkStreamerBase {
public:
  explicit JsonRemarks(std::unique_ptr<llvm::raw_fd_ostream> out) : out(std::move(out)) {}
  void streamOptimizationRemark(const Remark &remark) override {
    llvm::json::Object line{
        {"result", remark.getRemarkType() == llvm::remarks::Type::Passed ? "passed" : "missed"},
        {"fusion", remark.getRemarkName()},
        {"function", remark.getFunction()}};
    for (const Remark::Arg &arg : remark.getArgs())
      line[arg.key == "Op" ? "op" : arg.key == "Reason" ? "reason" : "what"] = arg.val;
    *out << llvm::json::Value(std::move(line)) << "\n";
  }

private:
  std::unique_ptr<llvm::raw_fd_ostream> out;
};

/// Prints lines of the requested kinds for the user, and writes all remarks to the file.
class AllRemarks : public MLIRRemarkStreamerBase {
public:
  AllRemarks(const std::string &kinds, std::unique_ptr<MLIRRemarkStreamerBase> file)
      : passed(kinds == "passed" || kinds == "all"), missed(kinds == "missed" || kinds == "all"),
        file(std::move(file)) {}
  void streamOptimizationRemark(const Remark &remark) override {
    if (remark.getRemarkType() == llvm::remarks::Type::Passed ? passed : missed) {
      remark.print(llvm::errs());
      llvm::errs() << "\n";
    }
    if (file)
      file->streamOptimizationRemark(remark);
  }
  void finalize() override {
    if (file)
      file->finalize();
  }

private:
  bool passed, missed;
  std::unique_ptr<MLIRRemarkStreamerBase> file;
};

} // namespace

static Result<std::unique_ptr<MLIRRemarkStreamerBase>> openFile(const std::string &path) {
  auto cannot = [&](const std::string &why) {
    return Error{ExitCode::File, "E0489", "cannot write the remarks to " + path, why,
                 "give --remarks-file a writable path: remarks.yaml"};
  };
  std::error_code failure;
  auto out = std::make_unique<llvm::raw_fd_ostream>(path, failure);
  if (failure)
    return cannot(failure.message());
  if (StringRef(path).ends_with(".json"))
    return std::unique_ptr<MLIRRemarkStreamerBase>(std::make_unique<JsonRemarks>(std::move(out)));
  out.reset();
  auto yaml = remark::detail::LLVMRemarkStreamer::createToFile(path, llvm::remarks::Format::YAML);
  if (failed(yaml))
    return cannot("LLVM's remark serialiser rejected it");
  return std::move(*yaml);
}

Result<void> compiler::enableRemarks(const CompileOptions &options, MLIRContext &context) {
  if (options.remarks.empty() && options.remarksFile.empty())
    return {};
  std::unique_ptr<MLIRRemarkStreamerBase> file;
  if (!options.remarksFile.empty()) {
    auto opened = openFile(options.remarksFile);
    if (!opened)
      return opened.error();
    file = std::move(*opened);
  }
  remark::RemarkCategories categories;
  categories.passed = categories.missed = "fusion";
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<AllRemarks>(options.remarks, std::move(file)),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
  return {};
}
