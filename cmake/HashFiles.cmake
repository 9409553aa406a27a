# For scripts of `cmake -P`: `hash` is that of the content of FILES, in their order.
set(all "")
foreach(file ${FILES})
  file(SHA256 ${file} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 hash "${all}")
