# Writes TO, a header with VERSION and a hash of FILES.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/HashFiles.cmake)
string(SUBSTRING ${hash} 0 8 hash)
file(WRITE ${TO} "#define INGOT_PLUGIN_VERSION \"${VERSION} (headers ${hash})\"\n")
