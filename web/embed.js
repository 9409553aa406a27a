// Writes the built page as one C++ file: the bytes of every asset, plain and compressed, in the order of their paths.
//
//   node embed.js DIST OUTPUT.cpp
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const PAGES = { 'index.html': '/', 'live.html': '/live' }

function literal(bytes) {
  let out = '', line = '"'
  for (const byte of bytes) {
    const plain = byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c && byte !== 0x3f
    line += plain ? String.fromCharCode(byte) : '\\' + byte.toString(8).padStart(3, '0')
    if (line.length > 110) {
      out += line + '"\n'
      line = '"'
    }
  }
  return out + line + '"'
}

const [dist, output] = process.argv.slice(2)
const under = folder =>
  readdirSync(join(dist, folder), { withFileTypes: true }).flatMap(entry => {
    const path = folder ? `${folder}/${entry.name}` : entry.name
    return entry.isDirectory() ? under(path) : [path]
  })
const files = under('').sort()

let code = '// Made by web/embed.js.\n#include "runtime/server/page/Assets.h"\n\nnamespace ingot::page {\n\nnamespace {\n\n'
let rows = ''
let sent = 0
files.forEach((file, i) => {
  const type = TYPES[extname(file)]
  if (!type) throw new Error(`${file}: web/embed.js knows no content type for it`)
  const plain = readFileSync(join(dist, file))
  const gzip = gzipSync(plain, { level: 9 })
  sent += gzip.length
  const tag = createHash('sha256').update(plain).digest('hex').slice(0, 20)
  code += `// ${file}\nconstexpr char kPlain${i}[] =\n${literal(plain)};\nconstexpr char kGzip${i}[] =\n${literal(gzip)};\n\n`
  rows += `    {"${PAGES[file] ?? '/' + file}", "${type}", "${tag}", ${!(file in PAGES)}, {kPlain${i}, ${plain.length}}, {kGzip${i}, ${gzip.length}}},\n`
})
code += `constexpr Asset kAssets[] = {\n${rows}};\n\n} // namespace\n\n`
code += 'std::span<const Asset> assets() { return kAssets; }\nconst char *whyNoAssets() { return ""; }\n\n} // namespace ingot::page\n'

// An unchanged file is not written, so that it is not compiled again.
if (!existsSync(output) || readFileSync(output, 'utf8') !== code) writeFileSync(output, code)
console.log(`the page: ${files.length} files, ${sent} bytes compressed`)
