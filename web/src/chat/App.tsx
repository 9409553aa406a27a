import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
import { Icon } from '../look/Icon'
import { chat } from './chat'
import { Composer } from './Composer'
import { FailureNote } from './FailureNote'
import { versionAt } from './forks'
import { MessageView } from './MessageView'
import { SettingsDialog } from './SettingsDialog'
import { Sidebar } from './Sidebar'
import { Spoken } from './Spoken'
import { Welcome } from './Welcome'

export function App() {
  const [, draw] = useReducer((n: number) => n + 1, 0)
  const [sidebar, setSidebar] = useState(false) // whether it is open on a narrow screen
  const [settings, setSettings] = useState(false)
  useEffect(() => chat.subscribe(() => draw(undefined)), [])
  useEffect(() => void chat.loadModels(), [])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || document.querySelector('dialog[open]')) return
      if (sidebar) setSidebar(false)
      else chat.stop()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [sidebar])

  return (
    <div class={`page${sidebar ? ' with-sidebar' : ''}`}>
      <Sidebar close={() => setSidebar(false)} />
      {sidebar && <div class="shade" onClick={() => setSidebar(false)} />}
      <main>
        <header>
          <button type="button" class="icon narrow" aria-label="Conversations" aria-expanded={sidebar} onClick={() => setSidebar(!sidebar)}>
            <Icon name="menu" />
          </button>
          <ModelChoice />
          <button type="button" class="worded" id="settings" aria-label="Settings" title="Settings" onClick={() => setSettings(true)}>
            <Icon name="gear" /> <span class="word">Settings</span>
          </button>
        </header>
        <Messages openSettings={() => setSettings(true)} />
        <p class="notice" role="status">
          {chat.notice} {chat.removed.length > 0 && <button type="button" class="plain-button" onClick={() => chat.undo()}>Undo</button>}
          <span class="away">{chat.spoken}</span>
        </p>
        <Spoken />
        <Composer key={chat.current.id} />
      </main>
      {settings && <SettingsDialog close={() => setSettings(false)} />}
    </div>
  )
}

function ModelChoice() {
  if (!chat.models.length) return <h1 class="model">Ingot</h1>
  return (
    <div class="model-choice">
      <span class="word" aria-hidden="true">Model</span>
      {chat.models.length === 1
        ? <h1 class="model" title={chat.models[0].id}>{chat.models[0].id}</h1>
        : (
          <select class="model" aria-label="Model" value={chat.model()?.id}
            onChange={event => chat.setSettings({ ...chat.settings, model: event.currentTarget.value })}>
            {chat.models.map(model => <option value={model.id}>{model.id}</option>)}
          </select>
        )}
    </div>
  )
}

function Messages({ openSettings }: { openSettings: () => void }) {
  const list = useRef<HTMLElement>(null)
  const follows = useRef(true)
  const [away, setAway] = useState(false)
  const { current, answering, failure } = chat
  const top = useRef(0)
  // The event comes late, and an answer may have grown since then. Only scrolling up shows that the user wants to stay.
  const onScroll = () => {
    const box = list.current!
    if (box.scrollHeight - box.scrollTop - box.clientHeight < 60) follows.current = true
    else if (box.scrollTop < top.current) follows.current = false
    top.current = box.scrollTop
    setAway(!follows.current)
  }
  const toEnd = () => list.current!.scrollTo({ top: list.current!.scrollHeight })
  // Follow new text until the user scrolls up.
  useEffect(() => {
    if (follows.current) toEnd()
  })
  useEffect(() => {
    follows.current = true
    toEnd()
  }, [current.id, current.messages.length])

  const isAnswering = answering?.conversation === current.id
  return (
    <div class="messages-frame">
      <section class="messages" ref={list} aria-label="Conversation" tabIndex={0} onScroll={onScroll}>
        {!current.messages.length && <Welcome />}
        <ol>
          {current.messages.map((message, i) => (
            <MessageView
              key={message.id}
              message={message}
              version={versionAt(current, i)}
              last={i === current.messages.length - 1}
              leftOut={i < current.from}
              border={i === current.from && i > 0}
              streaming={isAnswering && answering.message === message.id}
              busy={!!answering}
            />
          ))}
        </ol>
        {failure && (failure.conversation === current.id || failure.conversation === '') && (
          <FailureNote failure={failure.failure} ofModels={failure.conversation === ''} openSettings={openSettings} />
        )}
        {chat.storageFull && (
          <div class="failure" role="alert">
            <strong>The browser has no room for more history.</strong>
            <p>This conversation stays until the page is closed. Export what you want to keep, then delete old conversations.</p>
          </div>
        )}
      </section>
      {away && (
        <button type="button" class="icon to-end" aria-label="To the end" onClick={toEnd}><Icon name="end" /></button>
      )}
    </div>
  )
}
