# MLIR's build rules, and our own. Every target links the two shared libraries MLIR and LLVM, never their archives;
# otherwise type ids would be duplicated.
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# ingot_tablegen(TARGET file.td out1 -flag1 out2 -flag2 …)
function(ingot_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest out flags)
    separate_arguments(flags)
    mlir_tablegen(${out} ${flags} -I${CMAKE_SOURCE_DIR})
  endwhile()
  add_public_tablegen_target(${target})
endfunction()

ingot_headers(ingot-compiler-headers SCHEMA
  OPTIONS -fno-exceptions -Wno-unused-parameter
  INCLUDES ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS}
  HEADERS <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/LLVMIR/LLVMDialect.h> <mlir/Dialect/Math/IR/Math.h>
          <mlir/Dialect/Vector/IR/VectorOps.h>
          <mlir/IR/BuiltinOps.h> <mlir/IR/DialectImplementation.h> <mlir/IR/IRMapping.h> <mlir/IR/ImplicitLocOpBuilder.h> <mlir/IR/PatternMatch.h>
          <mlir/IR/Remarks.h> <mlir/Pass/PassManager.h> <mlir/Transforms/GreedyPatternRewriteDriver.h>
          <llvm/ADT/MapVector.h> <llvm/ADT/StringExtras.h> <llvm/ADT/TypeSwitch.h> <llvm/Support/FormatVariadic.h> <llvm/Support/MemoryBuffer.h>
          <algorithm> <functional> <map> <string> <vector>)
if(TARGET ingot-compiler-headers)
  set_target_properties(ingot-compiler-headers PROPERTIES CXX_VISIBILITY_PRESET default)
endif()

# An object library of the compiler: compiled with LLVM's flags (no exceptions) and linked
# once into libingot-compiler.so.
function(ingot_compiler_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_library(${name} OBJECT ${ARG_UNPARSED_ARGUMENTS})
  # Plugins and ingot-opt use the dialects and passes of the shared library.
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET default)
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_options(${name} PRIVATE -fno-exceptions -Wno-unused-parameter)
  ingot_use_headers(ingot-compiler-headers ${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY INGOT_COMPILER_OBJECTS ${name})
endfunction()
