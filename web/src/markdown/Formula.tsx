// KaTeX converts a formula to MathML, which the browser renders, so no styles or fonts are needed. KaTeX is loaded with
// the first formula. Until then, and if the text is not a valid formula, the source is shown.
import { useEffect, useRef } from 'preact/hooks'

const MOST = 5000 // characters

let loaded: Promise<typeof import('katex')> | undefined

export function Formula({ raw, tex, block }: { raw: string; tex: string; block: boolean }) {
  const place = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    let gone = false
    const draw = async () => {
      loaded ??= import('katex')
      const katex = (await loaded).default
      if (gone || !place.current) return
      const made = document.createElement('span') // if rendering fails, the source stays
      // These options allow no links, no pictures, and no macros that expand without limit.
      katex.render(tex, made, { output: 'mathml', displayMode: block, throwOnError: true, strict: false, trust: false, maxExpand: 200, maxSize: 20 })
      place.current.replaceChildren(made)
    }
    if (tex.length <= MOST) draw().catch(() => {})
    return () => { gone = true }
  }, [tex, block])
  return <span ref={place} class={block ? 'formula block' : 'formula'} tabIndex={block ? 0 : undefined}>{raw}</span>
}

type FormulaToken = { type: 'formula'; raw: string; tex: string; block: boolean }

/** $$…$$ and \[…\] on their own lines; \(…\) and $…$ within one (not money: no blank inside, no digit after). */
const DISPLAY = /^ {0,3}(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/
const INLINE = /^(?:\$\$([^$\n]+?)\$\$|\\\(([^\n]+?)\\\)|\\\[([^\n]+?)\\\]|\$(?![\s$])((?:[^$`\n\\]|\\.)+?)(?<![\s\\])\$(?![\d$]))/

function tokenOf(found: RegExpExecArray | null, block: boolean): FormulaToken | undefined {
  if (!found) return undefined
  const tex = found.slice(1).find(part => part !== undefined)?.trim()
  return tex ? { type: 'formula', raw: found[0], tex, block } : undefined
}

/** Extensions for marked's lexer. */
export const formulas = [
  {
    name: 'formula',
    level: 'block' as const,
    start: (source: string) => source.match(/^ {0,3}(?:\$\$|\\\[)/m)?.index,
    tokenizer: (source: string) => tokenOf(DISPLAY.exec(source), true),
  },
  {
    name: 'formula',
    level: 'inline' as const,
    start: (source: string) => source.match(/\$|\\[([]/)?.index,
    tokenizer: (source: string) => tokenOf(INLINE.exec(source), source.startsWith('$$') || source.startsWith('\\[')),
  },
]
