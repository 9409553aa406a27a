# For scripts run by `cmake -P`: sets `hash` to a hash over the contents of FILES, in order.
set(all "")
foreach(file ${FILES})
  file(SHA256 ${file} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 hash "${all}")
