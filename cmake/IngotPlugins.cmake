# Builds compiler plugins. find_package(Ingot COMPONENTS compiler) includes this file.
#
#   ingot_add_plugin(mine Mine.cpp)                     mine.so
#   ingot_add_plugin(mine Mine.cpp                      and Ops.{h,cpp}.inc, OpsDialect.{h,cpp}.inc of the dialect `my`
#                    DIALECT my OPS Ops.td)             that Ops.td defines
#
# A plugin links the compiler, MLIR and LLVM as shared libraries, never their archives:
# otherwise type ids would be duplicated.
find_package(MLIR ${INGOT_LLVM_VERSION} CONFIG QUIET HINTS /usr/lib/llvm-22)
if(NOT MLIR_FOUND)
  set(Ingot_NOT_FOUND_MESSAGE "MLIR ${INGOT_LLVM_VERSION} is not found: install it, or say -DMLIR_DIR=")
  return()
endif()
if(NOT TARGET Ingot::compiler)
  add_library(Ingot::compiler SHARED IMPORTED)
  set_target_properties(Ingot::compiler PROPERTIES
    IMPORTED_LOCATION "${PACKAGE_PREFIX_DIR}/lib/libingot-compiler.so"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${PACKAGE_PREFIX_DIR}/include/ingot;${LLVM_INCLUDE_DIRS};${MLIR_INCLUDE_DIRS}"
    INTERFACE_INCLUDE_DIRECTORIES "${PACKAGE_PREFIX_DIR}/include/ingot;${LLVM_INCLUDE_DIRS};${MLIR_INCLUDE_DIRS}"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES "MLIR;LLVM")
endif()
set(INGOT_INCLUDE_DIR "${PACKAGE_PREFIX_DIR}/include/ingot")
set(Ingot_compiler_FOUND TRUE)

function(ingot_add_plugin name)
  cmake_parse_arguments(ARG "" "DIALECT;OPS" "" ${ARGN})
  add_library(${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET default)
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_link_libraries(${name} PRIVATE Ingot::compiler)
  if(NOT ARG_DIALECT)
    return()
  endif()
  get_filename_component(base ${ARG_OPS} NAME_WE)
  get_filename_component(definitions ${ARG_OPS} ABSOLUTE)
  foreach(part "${base}.h.inc;-gen-op-decls" "${base}.cpp.inc;-gen-op-defs" "${base}Dialect.h.inc;-gen-dialect-decls;-dialect=${ARG_DIALECT}"
               "${base}Dialect.cpp.inc;-gen-dialect-defs;-dialect=${ARG_DIALECT}")
    list(POP_FRONT part file)
    set(made ${CMAKE_CURRENT_BINARY_DIR}/${file})
    add_custom_command(OUTPUT ${made} COMMAND ${INGOT_MLIR_TBLGEN} ${part} -I ${INGOT_INCLUDE_DIR}
                       -I ${MLIR_INCLUDE_DIRS} ${definitions} -o ${made} DEPENDS ${definitions} VERBATIM)
    target_sources(${name} PRIVATE ${made})
  endforeach()
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
find_program(INGOT_MLIR_TBLGEN NAMES mlir-tblgen-22 mlir-tblgen HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
