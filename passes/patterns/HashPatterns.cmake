# Writes TO, a header with the hash of FILES.
set(all "")
foreach(file ${FILES})
  file(SHA256 ${file} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 hash "${all}")
file(WRITE ${TO} "#define INGOT_OUR_PATTERNS_HASH \"${hash}\"\n")
