//===- PdllTool.cpp - See PdllTool.h --------------------------------------===//
#include "compiler/extend/PdllTool.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <dlfcn.h>

using namespace ingot;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static constexpr unsigned kMostSeconds = 60;

static Error cannotRun(std::string why) {
  return {
      ExitCode::File, "E0422", "a .pdll file needs the tool mlir-pdll of LLVM 22", std::move(why),
      "install mlir-22-tools, or translate the file elsewhere with mlir-pdll -x=mlir and give the "
      ".pdl.mlir"};
}

/// Returns FILE/../../NAME, with links resolved.
static std::string beside(llvm::StringRef file, llvm::StringRef name) {
  llvm::SmallString<256> real;
  if (fs::real_path(file, real))
    real = file;
  llvm::SmallString<256> place(path::parent_path(path::parent_path(real)));
  path::append(place, name);
  return std::string(place);
}

/// Returns the folder of the files that patterns include; it lies next to the folder of this library.
static std::string includes() {
  Dl_info info;
  return dladdr(reinterpret_cast<void *>(&includes), &info) ? beside(info.dli_fname, "share/ingot")
                                                            : "";
}

static std::string contents(llvm::StringRef file) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// Returns the first line with an error: "rules.pdll:3:9: error: unexpected character".
static std::string firstError(llvm::StringRef output) {
  for (llvm::StringRef line : llvm::split(output, '\n'))
    if (line.contains("error:"))
      return line.trim().str();
  return output.split('\n').first.trim().str();
}

Result<std::string> extend::translatePdll(const std::string &file) {
  auto tool = llvm::sys::findProgramByName("mlir-pdll-22");
  if (!tool)
    tool = llvm::sys::findProgramByName("mlir-pdll");
  if (!tool)
    return cannotRun("neither mlir-pdll-22 nor mlir-pdll is on the PATH");

  llvm::SmallString<128> output, errors;
  if (fs::createTemporaryFile("ingot-pdll", "mlir", output) ||
      fs::createTemporaryFile("ingot-pdll", "txt", errors))
    return cannotRun("cannot create a temporary file for its output");
  llvm::FileRemover removeOutput(output), removeErrors(errors);

  llvm::StringRef folder = path::parent_path(file);
  const std::string ours = includes(), mlirs = beside(*tool, "include");
  const llvm::StringRef arguments[] = {*tool, "-x=mlir", "-I", folder.empty() ? "." : folder,
                                       "-I",  ours,      "-I", mlirs,
                                       "-o",  output,    "--", file};
  const std::optional<llvm::StringRef> streams[] = {"", "", errors.str()}; // "" is /dev/null
  std::string problem;
  int code =
      llvm::sys::ExecuteAndWait(*tool, arguments, /*Env=*/std::nullopt, streams, kMostSeconds,
                                /*MemoryLimit=*/0, &problem);
  if (code == -2)
    return Error{ExitCode::File, "E0430", "mlir-pdll failed on " + file, *tool + ": " + problem,
                 "correct the file, or translate it elsewhere with mlir-pdll -x=mlir and give the "
                 ".pdl.mlir"};
  if (code < 0)
    return cannotRun(*tool + ": " + problem);
  if (code != 0)
    return Error{ExitCode::File, "E0423", "mlir-pdll cannot translate " + file,
                 firstError(contents(errors)),
                 "for Ingot's ops: #include \"dialects/lm/LmOps.td\" (docs/extending.md)"};
  return contents(output);
}
