'use strict'
// One script, joined from the files of this folder in the order of runtime/engine/CMakeLists.txt. It makes no requests,
// and inserts all that it shows as text, never as HTML.
