# Writes TO, a header with VERSION and the hash of FILES.
set(all "")
foreach(file ${FILES})
  file(SHA256 ${file} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 8 hash)
file(WRITE ${TO} "#define INGOT_PLUGIN_VERSION \"${VERSION} (headers ${hash})\"\n")
