// Syntax highlighting is one pass with one regular expression per language, built from the few parts in which languages
// differ. It is not a parser, and text that no part matches stays plain. No part can match the same text in two ways,
// so the time for an unterminated string of a model is linear in its length.

export type Piece = { kind: Kind | ''; text: string }
type Kind = 'comment' | 'string' | 'number' | 'keyword' | 'name' | 'tag' | 'added' | 'removed'

type Rules = { comment?: string; string?: string; keywords?: string; anyCase?: boolean }

const SLASHES = '\\/\\/[^\\n]*|\\/\\*(?:[^*]|\\*(?!\\/))*(?:\\*\\/)?'
const HASH = '#[^\\n]*'
const QUOTED = '"(?:[^"\\\\\\n]|\\\\.)*"?|\'(?:[^\'\\\\\\n]|\\\\.)*\'?'
const BACKTICKS = '`(?:[^`\\\\]|\\\\[^])*`?'
const TRIPLE = '"""(?:[^"]|"(?!""))*(?:""")?|\'\'\'(?:[^\']|\'(?!\'\'))*(?:\'\'\')?'
const C_WORDS = 'auto bool break case char class const constexpr continue default delete do double else enum explicit extern false float for friend goto if inline int int32_t int64_t long namespace new noexcept nullptr operator override private protected public register return short signed size_t sizeof static static_cast struct switch template this throw true try catch typedef typename uint32_t uint64_t uint8_t union unsigned using virtual void volatile while'

const C: Rules = { comment: SLASHES, string: QUOTED, keywords: C_WORDS }
const JS: Rules = {
  comment: SLASHES, string: `${QUOTED}|${BACKTICKS}`,
  keywords: 'any as async await boolean break case catch class const continue debugger default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null number of private public readonly return static string super switch this throw true try type typeof undefined unknown var void while yield',
}
const SHELL: Rules = {
  comment: HASH, string: QUOTED,
  keywords: 'case cd do done echo elif else esac exit export fi for function if in local readonly return set shift source sudo then unset until while',
}
const YAML: Rules = { comment: HASH, string: QUOTED, keywords: 'true false null yes no on off' }

const RULES: Record<string, Rules> = {
  c: C, cpp: C, cuda: { ...C, keywords: `${C_WORDS} __global__ __device__ __shared__ __host__` },
  python: {
    comment: HASH, string: `[rbfRBF]{0,2}(?:${TRIPLE}|${QUOTED})`,
    keywords: 'and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match case None nonlocal not or pass raise return self True try while with yield',
  },
  javascript: JS, typescript: JS,
  rust: { comment: SLASHES, string: '"(?:[^"\\\\]|\\\\[^])*"?', keywords: 'as async await bool break const continue crate dyn else enum extern f32 f64 false fn for i32 i64 if impl in let loop match mod move mut pub ref return self Self static str String struct super trait true type u32 u64 u8 unsafe use usize where while' },
  go: { comment: SLASHES, string: `${QUOTED}|\`[^\`]*\`?`, keywords: 'bool break byte case chan const continue default defer else error fallthrough false float64 for func go goto if import int interface map nil package range return rune select string struct switch true type uint8 var' },
  java: { comment: SLASHES, string: QUOTED, keywords: 'abstract boolean break byte case catch char class const continue default do double else enum extends final finally float for fun if implements import in instanceof int interface internal is let long namespace new null object override package private protected public readonly return short static string super switch synchronized this throw throws true try using val var void when while' },
  shell: SHELL, yaml: YAML, toml: YAML, json: { string: QUOTED, keywords: 'true false null' },
  sql: {
    comment: '--[^\\n]*|\\/\\*(?:[^*]|\\*(?!\\/))*(?:\\*\\/)?', string: QUOTED, anyCase: true,
    keywords: 'add all alter and as asc between by case count create cross default delete desc distinct drop else end exists foreign from full group having if in index inner insert int integer into is join key left like limit not null offset on or order outer primary references right select set sum table text then union unique update values varchar view when where with',
  },
  ruby: { comment: HASH, string: QUOTED, keywords: 'and begin break case class def do else elsif end ensure false for if in module next nil not or require rescue return self super then true unless until when while yield' },
  php: { comment: `${SLASHES}|${HASH}`, string: QUOTED, keywords: 'abstract array as break case catch class const continue default do echo else elseif extends false final finally fn for foreach function if implements interface namespace new null private protected public return static switch this throw trait true try use var while' },
  css: { comment: '\\/\\*(?:[^*]|\\*(?!\\/))*(?:\\*\\/)?', string: QUOTED },
}

const ALIASES: Record<string, string> = {
  'c++': 'cpp', cc: 'cpp', h: 'cpp', hpp: 'cpp', cu: 'cuda', py: 'python', python3: 'python', js: 'javascript', jsx: 'javascript', mjs: 'javascript',
  ts: 'typescript', tsx: 'typescript', rs: 'rust', golang: 'go', kotlin: 'java', kt: 'java', cs: 'java', csharp: 'java', 'c#': 'java', swift: 'java',
  sh: 'shell', bash: 'shell', zsh: 'shell', console: 'shell', dockerfile: 'shell', makefile: 'shell', yml: 'yaml', ini: 'toml', jsonc: 'json', json5: 'json',
  rb: 'ruby', postgresql: 'sql', sqlite: 'sql', mysql: 'sql', xml: 'html', svg: 'html', patch: 'diff', scss: 'css',
}

const MOST = 50_000 // characters; longer code stays plain

const made = new Map<string, RegExp>()

function expression(language: string): RegExp | null {
  const rules = RULES[language]
  if (!rules) return null
  let found = made.get(language)
  if (!found) {
    const words = rules.keywords?.split(' ').join('|')
    const parts = [
      rules.comment && `(?<comment>${rules.comment})`,
      rules.string && `(?<string>${rules.string})`,
      `(?<number>(?<![\\w$])(?:0[xX][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][-+]?\\d+)?)[a-zA-Z]{0,3}(?![\\w$]))`,
      words && `(?<keyword>(?<![\\w$.])(?:${words})(?![\\w$]))`,
      `(?<name>(?<![\\w$])[A-Za-z_][\\w$]*(?=\\())`,
    ]
    found = new RegExp(parts.filter(Boolean).join('|'), rules.anyCase ? 'gi' : 'g')
    made.set(language, found)
  }
  return found
}

const MARKUP = /(?<comment><!--(?:[^-]|-(?!->))*(?:-->)?)|(?<tag><\/?[A-Za-z][\w:-]*|\/?>)|(?<string>"[^"<>]*"|'[^'<>]*')/g
const DIFF = /^(?:(?<added>\+[^\n]*)|(?<removed>-[^\n]*)|(?<keyword>@@[^\n]*))/gm

/** Splits the code into pieces, whose concatenation is the code. */
export function highlight(code: string, language: string): Piece[] {
  const name = language.trim().toLowerCase().split(/[\s,{:]/, 1)[0]
  const known = ALIASES[name] ?? name
  const find = known === 'html' ? MARKUP : known === 'diff' ? DIFF : Object.hasOwn(RULES, known) ? expression(known) : null
  if (!find || code.length > MOST) return [{ kind: '', text: code }]
  const pieces: Piece[] = []
  let at = 0
  for (const match of code.matchAll(find)) {
    if (!match[0]) continue
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0] as Kind
    if (match.index > at) pieces.push({ kind: '', text: code.slice(at, match.index) })
    pieces.push({ kind, text: match[0] })
    at = match.index + match[0].length
  }
  if (at < code.length) pieces.push({ kind: '', text: code.slice(at) })
  return pieces
}
