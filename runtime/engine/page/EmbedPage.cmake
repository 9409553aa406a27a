# cmake -DFROM=folder -DSTYLES=a.css;b.css -DSCRIPTS=a.js;b.js -DOUT=file -P
# EmbedPage.cmake: embeds the page as C++ strings.
set(text "// Made by EmbedPage.cmake.\n#include \"runtime/engine/page/PageParts.h\"\n\nnamespace ingot::runtime::page {\n")
function(add_part name files)
  set(part "")
  foreach(file ${files})
    file(READ ${FROM}/${file} content)
    # Strict compilers limit a string literal to 64 kB, so each file is a literal of its own.
    string(APPEND part "R\"ingot_page(${content})ingot_page\"\n")
  endforeach()
  set(text "${text}const std::string_view ${name} = ${part};\n" PARENT_SCOPE)
endfunction()
add_part(kHead head.html)
add_part(kStyle "${STYLES}")
add_part(kBody body.html)
add_part(kScript "${SCRIPTS}")
file(WRITE ${OUT} "${text}} // namespace ingot::runtime::page\n")
