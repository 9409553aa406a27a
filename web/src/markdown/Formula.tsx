// A formula, drawn by KaTeX as MathML: the browser's own, so that neither styles nor fonts come with it. KaTeX itself comes when
// the first formula does. Until then, and where it is no formula after all, its source stands there.
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
      const made = document.createElement('span') // what fails leaves the source where it is
      // No links, no pictures, no macros that grow without end.
      katex.render(tex, made, { output: 'mathml', displayMode: block, throwOnError: true, strict: false, trust: false, maxExpand: 200, maxSize: 20 })
      place.current.replaceChildren(made)
    }
    if (tex.length <= MOST) draw().catch(() => {})
    return () => { gone = true }
  }, [tex, block])
  return <span ref={place} class={block ? 'formula block' : 'formula'} tabIndex={block ? 0 : undefined}>{raw}</span>
}

type FormulaToken = { type: 'formula'; raw: string; tex: string; block: boolean }

/** $$…$$ and \[…\] on lines of their own; \(…\) and $…$ within one, where the dollars are no money: none beside a blank, no digit behind. */
const DISPLAY = /^ {0,3}(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/
const INLINE = /^(?:\$\$([^$\n]+?)\$\$|\\\(([^\n]+?)\\\)|\\\[([^\n]+?)\\\]|\$(?![\s$])((?:[^$`\n\\]|\\.)+?)(?<![\s\\])\$(?![\d$]))/

function tokenOf(found: RegExpExecArray | null, block: boolean): FormulaToken | undefined {
  if (!found) return undefined
  const tex = found.slice(1).find(part => part !== undefined)?.trim()
  return tex ? { type: 'formula', raw: found[0], tex, block } : undefined
}

/** For marked's lexer. */
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
