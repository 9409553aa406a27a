// Code: syntax highlighting, and decompression of the embedded text.

const LANGUAGES = {
  ir: /(?<k>\/\/.*)|(?<s>"(?:[^"\\]|\\.)*")|(?<v>%[\w$.#:-]+|\^\w+)|(?<t>![\w.]+|#[\w.]+|\b(?:f32|f16|bf16|i\d+|index|tensor<[^>]*>))|(?<o>\b(?:lm|kernel|plan|arith|math)\.[\w.]+|@[\w$.]+)|(?<n>\b-?\d[\d.]*(?:e[+-]?\d+)?\b)/g,
  asm: /(?<k>#.*)|(?<o>^\s+[a-z][\w.]*)|(?<v>%[a-z]\w*)|(?<t>^\.\d+:|(?<=\s)\.\d+$)|(?<n>\$?-?\b\d[\da-fx]*\b)/gm,
  cuda: /(?<k>\/\/.*|^\s*#.*)|(?<s>"(?:[^"\\]|\\.)*")|(?<o>\b(?:if|else|for|while|return|const|constexpr|static|extern|struct|using|namespace|template|typename|auto|__global__|__device__|__launch_bounds__|__shared__)\b)|(?<t>\b(?:int|unsigned|float|void|bool|char|uint\w+|int\w+_t|u8|u32|u64|i64|bf16)\b)|(?<n>\b\d[\w.]*\b)/gm,
}

/** Highlighted text; long text stays plain, which browsers render quickly. */
function coloured(text, language) {
  const pattern = LANGUAGES[language]
  if (!pattern || text.length > 300000) return [text]
  const parts = []
  let at = 0
  for (const match of text.matchAll(pattern)) {
    const kind = Object.keys(match.groups).find(key => match.groups[key] !== undefined)
    if (match.index > at) parts.push(text.slice(at, match.index))
    parts.push(el('span', { class: kind }, match[0]))
    at = match.index + match[0].length
  }
  parts.push(text.slice(at))
  return parts
}

/** A <pre> that scrolls to `line`, if one is given. */
function codeBlock(text, language, line) {
  const pre = el('pre', { tabindex: 0 })
  if (line === undefined) pre.append(...coloured(text, language))
  else {
    const lines = text.split('\n')
    const before = lines.slice(0, line).join('\n'), behind = lines.slice(line + 1).join('\n')
    const here = el('span', { class: 'here' }, ...coloured(lines[line], language))
    pre.append(...coloured(before ? before + '\n' : '', language), here, ...coloured('\n' + behind, language))
    requestAnimationFrame(() => { pre.scrollTop = here.offsetTop - pre.offsetTop - pre.clientHeight / 3 })
  }
  return pre
}

const copyButton = text => el('button', { type: 'button', onclick: async event => {
  const button = event.target
  try { await navigator.clipboard.writeText(text); button.textContent = 'copied' } catch { button.textContent = 'select and copy it manually' }
  setTimeout(() => { button.textContent = 'copy' }, 1500)
} }, 'copy')

const unpackedCode = new Map()

/** The code of a target: an object from kernel names to texts; null if there is none. */
function codeOf(programNumber, targetNumber) {
  const key = `${programNumber}.${targetNumber}`
  if (!unpackedCode.has(key)) unpackedCode.set(key, unpack(more.programs[programNumber]?.targets[targetNumber]?.code))
  return unpackedCode.get(key)
}

async function unpack(packed) {
  if (!packed) return null
  const bytes = Uint8Array.from(atob(packed), c => c.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))
  return JSON.parse(await new Response(stream).text())
}

const isGpu = target => !target.startsWith('cpu:')
