// A model's Markdown, shown without ever being parsed as HTML.
//
//   text -- marked's lexer --> tokens -- here --> elements, made one by one
//
// A model's output cannot be trusted, because it may repeat its input. No innerHTML is used, so no output has to
// be sanitised. HTML in an answer is text. An image becomes a link to it, because pages make no outside requests.
// Only links to http, https or mailto become links. Existing elements are kept while an answer grows, so that a
// selection survives.
import './markdown.css'
import { Component, type ComponentChild } from 'preact'
import { Marked, type Token, type Tokens } from 'marked'
import { CopyButton } from '../look/CopyButton'
import { Formula, formulas } from './Formula'
import { highlight } from './highlight'

const marked = new Marked({ gfm: true, breaks: true, extensions: formulas })

// The lexer does not decode entities, so its text tokens may contain some.
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '©', mdash: '—', ndash: '–', hellip: '…', times: '×' }

export function unescapeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,8}));/g, (all, decimal, hex, name) => {
    if (name) return ENTITIES[name] ?? all
    const code = decimal ? Number(decimal) : parseInt(hex, 16)
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : '\ufffd'
  })
}

export function safeLink(target: string): string | null {
  try {
    // Without a base URL, a target without a scheme is refused.
    const url = new URL(target)
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null
  } catch {
    return null
  }
}

function link(target: string, children: ComponentChild, title?: string | null) {
  const href = safeLink(target)
  if (!href) return <>{children}</>
  return (
    <a href={href} title={title ?? undefined} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  )
}

function inline(tokens: Token[] | undefined): ComponentChild[] {
  return (tokens ?? []).map(token => {
    switch (token.type) {
      case 'strong': return <strong>{inline(token.tokens)}</strong>
      case 'em': return <em>{inline(token.tokens)}</em>
      case 'del': return <del>{inline(token.tokens)}</del>
      case 'codespan': return <code>{token.text}</code>
      case 'br': return <br />
      case 'link': return link(token.href, inline(token.tokens), token.title)
      case 'image': return link(token.href, `[image: ${token.text || token.href}]`)
      case 'escape': return token.text
      case 'formula': return <Formula key={token.raw} raw={token.raw} tex={token.tex} block={token.block} />
      case 'html': return token.raw
      case 'text': return token.tokens ? <>{inline(token.tokens)}</> : unescapeEntities(token.text)
      default: return token.raw
    }
  })
}

function CodeBlock({ text, language }: { text: string; language: string }) {
  return (
    <figure class="code">
      <figcaption>
        <span>{language || 'text'}</span>
        <CopyButton text={() => text} label="Copy this code" />
      </figcaption>
      <pre tabIndex={0}><code>{highlight(text, language).map(({ kind, text }) => (kind ? <span class={kind}>{text}</span> : text))}</code></pre>
    </figure>
  )
}

function Table({ token }: { token: Tokens.Table }) {
  const side = (column: number) => (token.align[column] ? `to-${token.align[column]}` : undefined)
  return (
    <div class="wide" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>{token.header.map((cell, i) => <th scope="col" class={side(i)}>{inline(cell.tokens)}</th>)}</tr>
        </thead>
        <tbody>
          {token.rows.map(row => <tr>{row.map((cell, i) => <td class={side(i)}>{inline(cell.tokens)}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  )
}

function List({ token }: { token: Tokens.List }) {
  const items = token.items.map(item => (
    <li class={item.task ? 'task' : undefined}>
      {item.task && <span role="img" aria-label={item.checked ? 'done' : 'open'}>{item.checked ? '☑ ' : '☐ '}</span>}
      {blocks(item.tokens.filter(token => token.type !== 'checkbox'))}
    </li>
  ))
  return token.ordered ? <ol start={token.start === '' ? 1 : token.start}>{items}</ol> : <ul>{items}</ul>
}

// The page has its own h1, so headings of an answer begin at h2.
function Heading({ depth, children }: { depth: number; children: ComponentChild }) {
  switch (depth) {
    case 1: return <h2>{children}</h2>
    case 2: return <h3>{children}</h3>
    case 3: return <h4>{children}</h4>
    default: return <h5>{children}</h5>
  }
}

function blocks(tokens: Token[]): ComponentChild[] {
  return tokens.map(token => {
    switch (token.type) {
      case 'space': case 'def': return null
      case 'paragraph': return <p>{inline(token.tokens)}</p>
      case 'text': return <>{token.tokens ? inline(token.tokens) : unescapeEntities(token.text)}</>
      case 'heading': return <Heading depth={token.depth}>{inline(token.tokens)}</Heading>
      case 'code': return <CodeBlock text={token.text} language={(token.lang ?? '').slice(0, 30)} />
      case 'blockquote': return <blockquote>{blocks(token.tokens ?? [])}</blockquote>
      case 'list': return <List token={token as Tokens.List} />
      case 'table': return <Table token={token as Tokens.Table} />
      case 'hr': return <hr />
      case 'formula': return <p><Formula key={token.raw} raw={token.raw.trim()} tex={token.tex} block /></p>
      case 'html': return <p class="raw">{token.raw.trim()}</p>
      default: return <p>{token.raw}</p>
    }
  })
}

function lex(text: string): Token[] | null {
  try {
    return marked.lexer(text)
  } catch {
    return null // the text is nested too deeply for the stack
  }
}

export class Markdown extends Component<{ text: string }> {
  shouldComponentUpdate(next: { text: string }) {
    return next.text !== this.props.text
  }
  render() {
    const tokens = lex(this.props.text)
    return <div class="markdown">{tokens ? blocks(tokens) : <p class="raw">{this.props.text}</p>}</div>
  }
}
