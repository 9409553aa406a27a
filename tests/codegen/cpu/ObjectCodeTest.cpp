//===- ObjectCodeTest.cpp - What a compiled object may and may not contain ===//
#include "codegen/cpu/ObjectCode.h"
#include "KernelRunner.h"
#include "dialects/kernel/ops/Structure.h"

#include "llvm/Object/ELFObjectFile.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::codegen::cpu;
using namespace ingot::codegen::cpu::test;
using Elf = llvm::object::ELF64LEFile;

namespace {

std::string matmul(const std::string &name, const std::string &format, const std::string &epilogue,
                   const char *kind = "q8") {
  std::string x = std::string("!kernel.activation<96, ") + kind + ">",
              w = "!lm.weight<64x96, " + format + ">";
  return "kernel.func @" + name + "(%x: " + x + ", %w: " + w +
         ", %y: !kernel.activation<64, f32>) {\n kernel.matmul %x : " + x + " weights(%w : " + w +
         ") outs(%y : !kernel.activation<64, f32>) attributes {aux_counts = array<i64: 0>, extent = "
         "#kernel.extent<tokens>} {"
         "\n ^bb0(%acc: f32):\n" +
         epilogue + "\n }\n kernel.return\n}\n";
}
const char *const kIdentity = "kernel.yield %acc : f32";
const char *const kTranscendental = "%0 = math.exp %acc : f32\n%1 = math.tanh %0 : f32\n%2 = "
                                    "math.erf %1 : f32\nkernel.yield %2 : f32";

std::string severalKernels() {
  return matmul("first", "q4_0", kIdentity) + matmul("second", "q6_k", kTranscendental) +
         matmul("third", "q8_0", kIdentity) + matmul("fourth", "bf16", kTranscendental, "f32");
}

TEST(ObjectCode, NeedsNothingFromOutside) {
  KernelModule module(severalKernels());
  for (const Isa *isa : allIsas()) { // every level builds on any machine
    auto image = compileKernels(module.kernels(), *isa);
    ASSERT_TRUE(succeeded(image));
    auto elf = Elf::create(llvm::StringRef(image->data(), image->size()));
    ASSERT_TRUE(bool(elf));
    EXPECT_EQ(elf->getHeader().e_type, llvm::ELF::ET_DYN);
    for (const auto &program : llvm::cantFail(elf->program_headers())) {
      if (program.p_type == llvm::ELF::PT_LOAD)
        EXPECT_FALSE(program.p_flags & llvm::ELF::PF_W) << isa->name << ": a writable segment";
      EXPECT_NE(program.p_type, llvm::ELF::PT_TLS);
    }
    std::vector<std::string> exported;
    for (const auto &section : llvm::cantFail(elf->sections())) {
      std::string name(llvm::cantFail(elf->getSectionName(section)));
      EXPECT_TRUE(section.sh_type != llvm::ELF::SHT_RELA && section.sh_type != llvm::ELF::SHT_REL)
          << name;
      EXPECT_NE(section.sh_type, llvm::ELF::SHT_NOBITS) << name;
      EXPECT_NE(name, ".eh_frame");
      EXPECT_NE(name, ".symtab");
      if (section.sh_type != llvm::ELF::SHT_DYNSYM)
        continue;
      auto strings = llvm::cantFail(elf->getStringTableForSymtab(section));
      for (const auto &symbol : llvm::cantFail(elf->symbols(&section))) {
        if (symbol.st_name == 0)
          continue;
        EXPECT_NE(symbol.st_shndx, llvm::ELF::SHN_UNDEF);
        exported.push_back(llvm::cantFail(symbol.getName(strings)).str());
      }
    }
    std::sort(exported.begin(), exported.end());
    EXPECT_EQ(exported, (std::vector<std::string>{"first", "fourth", "second", "third"}));
  }
}

TEST(ObjectCode, SameBytesEachTime) {
  KernelModule module(severalKernels()), again(severalKernels());
  auto one = compileKernels(module.kernels(), kAvx512, {.threads = 1});
  auto four = compileKernels(again.kernels(), kAvx512, {.threads = 4});
  ASSERT_TRUE(succeeded(one) && succeeded(four));
  EXPECT_EQ(*one, *four);
  auto other = compileKernels(module.kernels(), kAvx2);
  ASSERT_TRUE(succeeded(other));
  EXPECT_NE(*one, *other);
}

TEST(ObjectCode, ReportsWhatItCannotDo) {
  KernelModule module(matmul("wrong", "f16", kIdentity, "q8") + matmul("right", "q4_0", kIdentity));
  std::string said;
  mlir::ScopedDiagnosticHandler handler(module.anchor()->getContext(),
                                        [&](mlir::Diagnostic &d) { said += d.str(); });
  EXPECT_TRUE(failed(compileKernels(module.kernels(), kAvx2, {.threads = 2})));
  EXPECT_NE(said.find("cannot multiply quantised rows"), std::string::npos) << said;
}

/// Any ops fused with an op either have code or are refused with a message that names the problem.
TEST(ObjectCode, RefusesFusionsByName) {
  const std::string rows = "!kernel.activation<64, f32>", fusedValue = "!kernel.fused<64, f32>",
                    region = "{\n^bb0(%a: f32): kernel.yield %a : f32\n}\n",
                    make = "%x = kernel.rowwise ins(%in : " + rows + ") -> " + fusedValue +
                           " attributes {extent = #kernel.extent<tokens>} " + region,
                    begin =
                        "(%in: " + rows + ", %w: !lm.weight<64x64, q4_0>, %y: " + rows + ") {\n";
  KernelModule module(
      "kernel.func @made" + begin + make + "kernel.matmul %x : " + fusedValue +
      " weights(%w : !lm.weight<64x64, q4_0>) outs(%y : " + rows +
      ") attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} " + region +
      "kernel.return\n}\nkernel.func @stored" + begin + make + "kernel.store %x : " + fusedValue +
      " into %y : " + rows + "\nkernel.return\n}\n");
  EXPECT_EQ(kernelShape(module.kernels()[0]).refused,
            "expects its activations to be in memory on CPUs");
  std::string said;
  mlir::ScopedDiagnosticHandler handler(module.anchor()->getContext(),
                                        [&](mlir::Diagnostic &d) { said += d.str(); });
  EXPECT_TRUE(failed(compileKernels(module.kernels(), kAvx2)));
  EXPECT_NE(said.find("expects its activations to be in memory on CPUs"), std::string::npos)
      << said;
  EXPECT_NE(said.find("is fused with other ops, which is not supported on CPUs"), std::string::npos)
      << said;
}

/// A matrix type states its layout; a matrix that no pass has laid out is treated as panels.
TEST(ObjectCode, ReadsPanelsAlone) {
  KernelModule open(matmul("k", "q4_0", kIdentity)),
      panels(matmul("k", "q4_0, panel32", kIdentity)),
      fragments(matmul("k", "q4_0, frag16", kIdentity));
  auto one = compileKernels(open.kernels(), kAvx2), two = compileKernels(panels.kernels(), kAvx2);
  ASSERT_TRUE(succeeded(one) && succeeded(two));
  EXPECT_EQ(*one, *two);
  std::string said;
  mlir::ScopedDiagnosticHandler handler(fragments.anchor()->getContext(),
                                        [&](mlir::Diagnostic &d) { said += d.str(); });
  EXPECT_TRUE(failed(compileKernels(fragments.kernels(), kAvx2)));
  EXPECT_NE(said.find("expects matrices in the layout panel32 on this target"), std::string::npos)
      << said;
}

TEST(ObjectCode, LinkerRefusesUndefinedSymbols) {
  KernelModule module(matmul("log", "q4_0", "%0 = math.log1p %acc : f32\nkernel.yield %0 : f32"));
  std::string said;
  mlir::ScopedDiagnosticHandler handler(module.anchor()->getContext(),
                                        [&](mlir::Diagnostic &d) { said += d.str(); });
  EXPECT_TRUE(failed(compileKernels(module.kernels(), kAvx512)));
  EXPECT_NE(said.find("undefined symbol: logf"), std::string::npos) << said;
}

TEST(ObjectCode, PrintsEveryForm) {
  KernelModule module(matmul("k", "q4_0", kIdentity));
  auto text = [&](CodeText form, const Isa &isa) {
    auto printed = printKernel(module, isa, form);
    EXPECT_TRUE(succeeded(printed));
    return succeeded(printed) ? *printed : "";
  };
  EXPECT_NE(text(CodeText::Mlir, kAvx512).find("scf.for"), std::string::npos);
  EXPECT_NE(text(CodeText::Llvm, kAvx512).find("define void @k("), std::string::npos);
  EXPECT_NE(text(CodeText::Assembly, kAvx512).find("vpdpbusd"), std::string::npos);
  EXPECT_NE(text(CodeText::Assembly, kAvx2).find("vpmaddubsw"), std::string::npos);
  EXPECT_EQ(text(CodeText::Assembly, kAvx2).find("%zmm"), std::string::npos);
  // 256 bits with a VEX prefix: CPUs with AVX-VNNI have no EVEX.
  std::string vnni = text(CodeText::Assembly, kAvxVnni);
  EXPECT_NE(vnni.find("{vex}\tvpdpbusd"), std::string::npos) << vnni;
  EXPECT_EQ(vnni.find("%zmm"), std::string::npos);
  EXPECT_EQ(vnni.find("vpmaddubsw"), std::string::npos);
  std::string wide = text(CodeText::Assembly, kAvx512Vnni);
  EXPECT_NE(wide.find("vpdpbusd"), std::string::npos);
  EXPECT_NE(wide.find("%zmm"), std::string::npos);
}

/// The tiles are chosen so that accumulators stay in registers.
TEST(ObjectCode, NoVectorSpillsAtAvx512) {
  for (const char *format : {"q4_0", "q4_1", "q8_0", "q4_k", "q5_k", "q6_k", "mxfp4", "int8",
                             "int4_g32", "int4_g64", "int4_g128"}) {
    KernelModule module(matmul("k", format, kIdentity));
    auto text = printKernel(module, kAvx512, CodeText::Assembly);
    ASSERT_TRUE(succeeded(text));
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(*text).split(lines, '\n');
    const auto accesses = llvm::count_if(lines, [](llvm::StringRef line) {
      return line.contains("(%rsp)") && line.contains("%zmm");
    });
    EXPECT_EQ(accesses, 0) << format;
  }
}

} // namespace
