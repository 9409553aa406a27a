import { useEffect, useRef, useState } from 'preact/hooks'
import { CopyButton } from '../look/CopyButton'
import { Icon } from '../look/Icon'
import { Markdown } from '../markdown/Markdown'
import { chat } from './chat'
import type { Message, ToolCall } from './conversation'

type Version = { number: number; of: number } | null
type Props = { message: Message; version: Version; last: boolean; leftOut: boolean; border: boolean; streaming: boolean; busy: boolean }

const SPEAKER = { user: 'You', assistant: 'Model', tool: 'Tool' }

export function MessageView({ message, version, last, leftOut, border, streaming, busy }: Props) {
  const [editing, setEditing] = useState(false)
  const { role } = message
  return (
    <>
      {border && <li class="left-out" role="separator">What is above is no longer sent to the model.</li>}
      <li class={`message ${role}${leftOut ? ' is-left-out' : ''}`} aria-busy={streaming}>
        <h2 class="away">{SPEAKER[role]}</h2>
        {message.reasoning && <Reasoning text={message.reasoning} thinking={streaming && !message.content} />}
        {editing ? <Editor message={message} close={() => setEditing(false)} /> : <Content message={message} streaming={streaming} />}
        {message.toolCalls?.map(call => <Call key={call.id} call={call} />)}
        {last && !busy && message.toolCalls && <ToolResults calls={message.toolCalls} />}
        {!streaming && !editing && (
          <footer>
            {version && <Versions id={message.id} version={version} busy={busy} />}
            <CopyButton text={() => message.content} label="Copy this message" />
            {role !== 'tool' && (
              <button type="button" class="icon small edit" disabled={busy} aria-label="Edit this message" title="Edit" onClick={() => setEditing(true)}>
                <Icon name="edit" />
              </button>
            )}
            {last && role === 'assistant' && (
              <button type="button" class="icon small again" disabled={busy} aria-label="Another answer" title="Another answer" onClick={() => chat.again()}>
                <Icon name="again" />
              </button>
            )}
            <Facts message={message} />
          </footer>
        )}
      </li>
    </>
  )
}

/** Shows the number of a version between arrows: ‹ 2/3 › */
function Versions({ id, version: { number, of }, busy }: { id: string; version: { number: number; of: number }; busy: boolean }) {
  return (
    <span class="versions" role="group" aria-label={`Version ${number} of ${of}`}>
      <button type="button" class="icon small" disabled={busy || number === 1} aria-label="The version before" title="The version before" onClick={() => chat.turn(id, -1)}>
        <Icon name="back" />
      </button>
      <span>{number}/{of}</span>
      <button type="button" class="icon small" disabled={busy || number === of} aria-label="The next version" title="The next version" onClick={() => chat.turn(id, 1)}>
        <Icon name="forth" />
      </button>
    </span>
  )
}

function Content({ message, streaming }: { message: Message; streaming: boolean }) {
  if (message.role === 'user') return <Question message={message} />
  if (message.role === 'tool') return <details class="call"><summary>What the tool gave back</summary><pre>{message.content}</pre></details>
  if (streaming && !message.content && !message.reasoning && !message.toolCalls)
    return <p class="waiting" aria-label="Waiting for the first token"><i /><i /><i /></p>
  return <Markdown text={message.content} />
}

function Question({ message }: { message: Message }) {
  return (
    <div class="plain">
      {message.content && <p>{message.content}</p>}
      {message.files?.map(file => (
        <details class="file">
          <summary><Icon name="file" /> {file.name}</summary>
          <pre tabIndex={0}>{file.text}</pre>
        </details>
      ))}
    </div>
  )
}

function Reasoning({ text, thinking }: { text: string; thinking: boolean }) {
  return (
    <details class="reasoning">
      <summary>{thinking ? 'Thinking…' : 'Reasoning'}</summary>
      <Markdown text={text} />
    </details>
  )
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json // incomplete so far, or not JSON
  }
}

function Call({ call }: { call: ToolCall }) {
  return (
    <details class="call" open>
      <summary>Calls <code>{call.name}</code></summary>
      <pre>{pretty(call.arguments)}</pre>
    </details>
  )
}

/** Lets the user enter the results of tool calls, since the page runs no tools. */
function ToolResults({ calls }: { calls: ToolCall[] }) {
  const [results, setResults] = useState(calls.map(() => ''))
  return (
    <form class="results" onSubmit={event => { event.preventDefault(); chat.sendResults(results) }}>
      {calls.map((call, i) => (
        <label>
          What {call.name} gave back
          <textarea rows={2} value={results[i]} onInput={event => setResults(results.map((old, at) => (at === i ? event.currentTarget.value : old)))} />
        </label>
      ))}
      <button type="submit">Send {calls.length > 1 ? 'results' : 'result'}</button>
    </form>
  )
}

function Editor({ message, close }: { message: Message; close: () => void }) {
  const [text, setText] = useState(message.content)
  const area = useRef<HTMLTextAreaElement>(null)
  useEffect(() => area.current?.focus(), [])
  const asks = message.role === 'user'
  const done = () => {
    close()
    if (asks ? text.trim() || message.files : text !== message.content) chat.edit(message.id, text)
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Escape') close()
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) done()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div class="editor">
      <textarea ref={area} aria-label="The message" rows={Math.min(16, text.split('\n').length + 1)} value={text}
        onInput={event => setText(event.currentTarget.value)} onKeyDown={onKey} />
      <div class="row">
        <button type="button" class="main" onClick={done}>{asks ? 'Ask again' : 'Keep'}</button>
        <button type="button" onClick={close}>Cancel</button>
        {asks && <small>What was asked and answered stays beside it: ‹ 1/2 ›.</small>}
      </div>
    </div>
  )
}

const ENDS = { stop: '', tool_calls: '', length: 'cut at the limit of tokens', stopped: 'stopped', failed: 'broke off' }

function Facts({ message }: { message: Message }) {
  const { timing, ending } = message
  const facts: string[] = []
  if (ending && ENDS[ending]) facts.push(ENDS[ending])
  if (timing) {
    if (timing.perSecond) facts.push(`${timing.perSecond.toFixed(timing.perSecond < 10 ? 1 : 0)} tokens/s`)
    facts.push(`first after ${timing.firstMs < 1000 ? `${Math.round(timing.firstMs)} ms` : `${(timing.firstMs / 1000).toFixed(1)} s`}`)
    facts.push(`${timing.tokens.toLocaleString()} new of ${(timing.promptTokens + timing.tokens).toLocaleString()} tokens`)
    if (timing.cachedTokens) facts.push(`${timing.cachedTokens.toLocaleString()} cached`)
  }
  return facts.length ? <small class="facts">{facts.join(' · ')}</small> : null
}
