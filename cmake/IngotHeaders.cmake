# We precompile the headers that most sources of a group include and that take long to parse. They are headers of
# libraries, not our own, so a change to our headers recompiles nothing extra. The exception is the engine's schema
# header (SCHEMA): it takes 1.5 s to parse per source file and changes only with the format. Compilers other than
# Clang use no precompiled headers.
#
#   ingot_headers(NAME [PROGRAMS] [SCHEMA] LIBS library… HEADERS <header>…)   compiles them once, for libraries or programs
#   ingot_use_headers(NAME target…)                                  targets with the same compile options
function(ingot_headers name)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  cmake_parse_arguments(ARG "PROGRAMS;SCHEMA" "" "LIBS;INCLUDES;OPTIONS;HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers/${name}.cpp CONTENT "// ${name}: its precompiled header is what counts.\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/headers/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS})
  target_include_directories(${name} SYSTEM PRIVATE ${ARG_INCLUDES})
  if(ARG_PROGRAMS) # CMake compiles programs with -fPIE
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    list(APPEND ARG_OPTIONS -fPIE)
  endif()
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  if(ARG_SCHEMA)
    list(APPEND ARG_HEADERS <runtime/schema/engine_generated.h>) # no path, so the text is the same in every clone
    add_dependencies(${name} ingot-schema)
  endif()
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

function(ingot_use_headers name)
  foreach(target ${ARGN})
    if(TARGET ${name} AND TARGET ${target})
      target_precompile_headers(${target} REUSE_FROM ${name})
    endif()
  endforeach()
endfunction()

# ccache must ignore when a header was precompiled, and clang must not record that time in the precompiled header.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
