# Writes TO, a header with a hash of FILES.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/HashFiles.cmake)
file(WRITE ${TO} "#define INGOT_OUR_PATTERNS_HASH \"${hash}\"\n")
