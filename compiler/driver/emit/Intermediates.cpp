//===- Intermediates.cpp - See Intermediates.h ----------------------------===//
#include "compiler/driver/emit/Intermediates.h"
#include "compiler/driver/emit/EmitText.h"
#include "compiler/options/OutputPlace.h"
#include "compiler/targets/CodeTarget.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>

namespace fs = std::filesystem;

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

/// Returns whether the file's name shows that it is from an earlier run: NNN-PASS.mlir or NNN-TARGET-PASS.mlir. Other
/// files belong to the user.
static bool isOurs(const fs::path &path) {
  StringRef name = path.native();
  name = llvm::sys::path::filename(name);
  if (!name.consume_back(".mlir") || name.size() < 5 || name[3] != '-' ||
      !llvm::all_of(name.take_front(3), llvm::isDigit))
    return false;
  name = name.drop_front(4);
  for (const CodeTarget *target : codeTargets())
    if (StringRef rest = name; rest.consume_front(target->name()) && rest.consume_front("-"))
      name = rest;
  return name == "lm" || name == "fused" || PassInfo::lookup(name);
}

Result<void> Intermediates::open(const std::string &where) {
  if (where.empty())
    return {};
  std::error_code error;
  fs::create_directories(where, error);
  for (fs::directory_iterator entry(where, error), end; !error && entry != end;
       entry.increment(error))
    if (isOurs(entry->path()))
      fs::remove(entry->path(), error);
  if (error)
    return Error{ExitCode::File, "E0487", "cannot write intermediates to " + where, error.message(),
                 "give --dump-intermediates a writable folder"};
  folder = where;
  return {};
}

void Intermediates::add(ModuleOp module, const std::string &name) {
  const std::string text = irText(module);
  if (text == last || !failure)
    return;
  last = text;
  std::string file;
  llvm::raw_string_ostream(file) << folder << "/" << llvm::format("%03d", number++) << "-"
                                 << (device.empty() ? "" : device + "-") << name << ".mlir";
  if (auto written = writeText(text, file); !written) {
    const Error &error = written.error();
    failure = Error{ExitCode::File, "E0487", "cannot write " + file, error.why, error.fix};
  }
}

void Intermediates::begin(ModuleOp module, const std::string &name, const std::string &of) {
  device = of;
  if (!folder.empty())
    add(module, name);
}

class Intermediates::Watch : public PassInstrumentation {
public:
  explicit Watch(Intermediates &to) : to(to) {}
  void runAfterPass(Pass *pass, Operation *op) override {
    if (pass->getArgument().empty())
      return;
    auto module = dyn_cast<ModuleOp>(op);
    to.add(module ? module : op->getParentOfType<ModuleOp>(), pass->getArgument().str());
  }

private:
  Intermediates &to;
};

std::unique_ptr<PassInstrumentation> Intermediates::watch() {
  return folder.empty() ? nullptr : std::make_unique<Watch>(*this);
}
