# What `cmake --install` installs, and where.
#
#   bin/ingot  lib/libingot-compiler.so  lib/libingot-cuda-emulator.so     the command line, which finds the libraries
#   share/ingot                                                             includes for patterns, and the compiler's own patterns
#   lib/libingot.so.0  include/ingot.h(pp)  lib/cmake/Ingot  lib/pkgconfig  for programs that embed engines
#   include/ingot  lib/cmake/Ingot                                          for compiler plugins
#   backends/ingot                                                          the Triton backend, with libingot
#
# Each line belongs to a component: the first two to `command`, the third to `library`, the fourth to `development`
# (which also needs `command`), the last to `triton`. `python` holds the contents of a wheel (python/pyproject.toml).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# find_package(Ingot) finds libingot.so.0; with COMPONENTS compiler, it also finds what plugins are built with.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Ingot)
configure_package_config_file(cmake/IngotConfig.cmake.in ${CMAKE_BINARY_DIR}/IngotConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
# The library's file name gives the interface version: any release with libingot.so.0 is compatible. A plugin works
# with one build of the compiler only, and the compiler checks that itself (compiler/extend/Plugin.h).
write_basic_package_version_file(${CMAKE_BINARY_DIR}/IngotConfigVersion.cmake COMPATIBILITY SameMajorVersion)

if(TARGET ingot-shared)
  # Users of the target call it Ingot::ingot.
  set_target_properties(ingot-shared PROPERTIES EXPORT_NAME ingot)
  install(TARGETS ingot-shared EXPORT IngotTargets COMPONENT library
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_COMPONENT library
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES runtime/embed/include/ingot.h runtime/embed/include/ingot.hpp COMPONENT library
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT IngotTargets NAMESPACE Ingot:: COMPONENT library DESTINATION ${package_folder})
  install(FILES ${CMAKE_BINARY_DIR}/IngotConfig.cmake ${CMAKE_BINARY_DIR}/IngotConfigVersion.cmake COMPONENT library
          DESTINATION ${package_folder})
  file(RELATIVE_PATH INGOT_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(cmake/ingot.pc.in ${CMAKE_BINARY_DIR}/ingot.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/ingot.pc COMPONENT library DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

  install(FILES $<TARGET_FILE:ingot-shared> RENAME $<TARGET_SONAME_FILE_NAME:ingot-shared> COMPONENT python EXCLUDE_FROM_ALL
          DESTINATION ingot)
endif()

# The prefix is the server's folder (/opt/tritonserver) or the folder that contains the server's --backend-directory,
# which must then be PREFIX/backends.
if(TARGET ingot-triton)
  install(TARGETS ingot-triton COMPONENT triton EXCLUDE_FROM_ALL LIBRARY DESTINATION backends/ingot)
  foreach(needed ingot-shared simdjson::simdjson)
    install(FILES $<TARGET_FILE:${needed}> RENAME $<TARGET_SONAME_FILE_NAME:${needed}> COMPONENT triton EXCLUDE_FROM_ALL
            DESTINATION backends/ingot)
  endforeach()
  get_filename_component(xxhash ${INGOT_XXHASH_LIBRARY} REALPATH)
  if(xxhash MATCHES "\\.so\\.") # otherwise it is linked into libingot
    install(FILES ${xxhash} RENAME libxxhash.so.0 COMPONENT triton EXCLUDE_FROM_ALL DESTINATION backends/ingot)
  endif()
endif()

# The compiler looks for the files that patterns include in ../share/ingot, relative to the library's folder.
if(TARGET ingot-compiler)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ingot COMPONENT command DESTINATION share)
endif()

# Headers for plugins: the dialects with their TableGen output, the families, and the headers that these include.
if(TARGET ingot-compiler)
  install(FILES ${CMAKE_BINARY_DIR}/IngotConfig.cmake ${CMAKE_BINARY_DIR}/IngotConfigVersion.cmake
                cmake/IngotPlugins.cmake COMPONENT development DESTINATION ${package_folder})
  foreach(folder ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
    foreach(room dialects models compiler/import compiler/extend runtime/error runtime/formats runtime/abi)
      if(EXISTS ${folder}/${room})
        install(DIRECTORY ${folder}/${room}/ COMPONENT development DESTINATION include/ingot/${room}
                FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.h.inc" PATTERN CMakeFiles EXCLUDE
                PATTERN test EXCLUDE)
      endif()
    endforeach()
  endforeach()
endif()

# LLVM and MLIR are not installed: plugins use the machine's own, at the path where this build found them.
if(TARGET ingot-compiler)
  set_target_properties(ingot-compiler PROPERTIES INSTALL_RPATH "${LLVM_LIBRARY_DIRS}")
endif()

# `ingot` looks for the first two in ../lib relative to its own folder, wherever other libraries are installed.
if(TARGET ingot)
  install(TARGETS ingot COMPONENT command RUNTIME DESTINATION bin)
endif()
foreach(opened ingot-compiler ingot-cuda-emulator ingot-server-shared)
  if(TARGET ${opened})
    install(TARGETS ${opened} COMPONENT command LIBRARY DESTINATION lib)
  endif()
endforeach()
