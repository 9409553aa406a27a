'use strict'
// One script, put together of the files of this folder in the order of runtime/engine/CMakeLists.txt. It asks nobody for
// anything, and what it shows becomes text, never HTML.
