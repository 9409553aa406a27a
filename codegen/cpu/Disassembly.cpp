//===- Disassembly.cpp - See Disassembly.h --------------------------------===//
#include "codegen/cpu/Disassembly.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>

using namespace llvm;
using namespace ingot::codegen::cpu;

namespace {

/// The objects that LLVM's MC layer needs to decode and print instructions.
class Reader {
public:
  static Expected<std::unique_ptr<Reader>> make() {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeX86TargetInfo();
      LLVMInitializeX86TargetMC();
      LLVMInitializeX86Disassembler();
    });
    const Triple triple("x86_64-unknown-linux-gnu");
    std::string problem;
    const Target *target = TargetRegistry::lookupTarget(triple, problem);
    if (!target)
      return createStringError(problem);
    return std::unique_ptr<Reader>(new Reader(*target, triple));
  }

  std::string textOf(ArrayRef<uint8_t> code, uint64_t address);

private:
  struct Line {
    MCInst inst;
    uint64_t address = 0, size = 0;
    bool known = false;
  };

  Reader(const Target &target, const Triple &triple)
      : registers(target.createMCRegInfo(triple)), info(target.createMCInstrInfo()),
        assembly(target.createMCAsmInfo(*registers, triple, options)),
        subtarget(target.createMCSubtargetInfo(triple, "", "")),
        context(triple, assembly.get(), registers.get(), subtarget.get()),
        disassembler(target.createMCDisassembler(*subtarget, context)),
        analysis(target.createMCInstrAnalysis(info.get())),
        printer(target.createMCInstPrinter(triple, assembly->getAssemblerDialect(), *assembly,
                                           *info, *registers)) {
    printer->setPrintImmHex(false);
  }

  std::vector<Line> linesOf(ArrayRef<uint8_t> code, uint64_t address);
  std::string lineText(const Line &line, const DenseMap<uint64_t, unsigned> &labels);

  MCTargetOptions options;
  std::unique_ptr<MCRegisterInfo> registers;
  std::unique_ptr<MCInstrInfo> info;
  std::unique_ptr<MCAsmInfo> assembly;
  std::unique_ptr<MCSubtargetInfo> subtarget;
  MCContext context;
  std::unique_ptr<MCDisassembler> disassembler;
  std::unique_ptr<MCInstrAnalysis> analysis;
  std::unique_ptr<MCInstPrinter> printer;
};

std::vector<Reader::Line> Reader::linesOf(ArrayRef<uint8_t> code, uint64_t address) {
  std::vector<Line> lines;
  for (uint64_t at = 0; at < code.size();) {
    Line &line = lines.emplace_back();
    line.address = address + at;
    line.known = disassembler->getInstruction(line.inst, line.size, code.drop_front(at),
                                              line.address, nulls()) == MCDisassembler::Success;
    if (!line.known)
      line.size = 1;
    at += line.size;
  }
  return lines;
}

std::string Reader::lineText(const Line &line, const DenseMap<uint64_t, unsigned> &labels) {
  if (!line.known)
    return "  (bad)\n";
  std::string text;
  raw_string_ostream stream(text);
  printer->printInst(&line.inst, line.address, /*Annot=*/"", *subtarget, stream);
  StringRef shown = StringRef(text).trim();
  auto [name, operands] = shown.split('\t');
  std::string whole = "  " + name.str();
  uint64_t target = 0;
  auto label = analysis->evaluateBranch(line.inst, line.address, line.size, target)
                   ? labels.find(target)
                   : labels.end();
  if (label != labels.end())
    whole += " ." + utostr(label->second);
  else if (!operands.empty())
    whole += " " + operands.str();
  if (auto constant = analysis->evaluateMemoryOperandAddress(line.inst, subtarget.get(),
                                                             line.address, line.size))
    whole += "  # " + utohexstr(*constant, /*LowerCase=*/true);
  return whole + "\n";
}

std::string Reader::textOf(ArrayRef<uint8_t> code, uint64_t address) {
  const std::vector<Line> lines = linesOf(code, address);
  DenseMap<uint64_t, unsigned> labels;
  uint64_t target = 0;
  for (const Line &line : lines)
    if (line.known && analysis->evaluateBranch(line.inst, line.address, line.size, target) &&
        target >= address && target < address + code.size())
      labels.try_emplace(target, 0);
  unsigned number = 0;
  for (const Line &line : lines)
    if (auto label = labels.find(line.address); label != labels.end())
      label->second = number++;
  std::string text;
  for (const Line &line : lines) {
    if (auto label = labels.find(line.address); label != labels.end())
      text += "." + utostr(label->second) + ":\n";
    text += lineText(line, labels);
  }
  return text;
}

} // namespace

Expected<std::vector<DisassembledFunction>> ingot::codegen::cpu::disassemble(StringRef object) {
  auto file = object::ObjectFile::createELFObjectFile(MemoryBufferRef(object, "code"));
  if (!file)
    return file.takeError();
  auto *elf = dyn_cast<object::ELF64LEObjectFile>(file->get());
  if (!elf)
    return createStringError("it is not a 64-bit ELF object");
  auto reader = Reader::make();
  if (!reader)
    return reader.takeError();
  std::vector<std::pair<uint64_t, DisassembledFunction>> found;
  for (const object::ELFSymbolRef symbol : elf->getDynamicSymbolIterators()) {
    if (symbol.getELFType() != ELF::STT_FUNC)
      continue;
    auto name = symbol.getName();
    auto address = symbol.getAddress();
    auto section = symbol.getSection();
    if (!name || !address || !section || *section == elf->section_end())
      return createStringError("its function table is damaged");
    auto bytes = (*section)->getContents();
    const uint64_t begin = *address - (*section)->getAddress();
    if (!bytes || begin > bytes->size() || symbol.getSize() > bytes->size() - begin)
      return createStringError("a function is outside its section");
    StringRef code = bytes->substr(begin, symbol.getSize());
    found.push_back(
        {*address, {name->str(), (*reader)->textOf(arrayRefFromStringRef(code), *address)}});
  }
  llvm::sort(found, [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<DisassembledFunction> functions;
  for (auto &[address, function] : found)
    functions.push_back(std::move(function));
  return functions;
}
