import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { keepKey, readKey } from '../api/key'
import { Icon } from '../look/Icon'
import { chat } from './chat'
import { NUMBERS, readSettings, whyNoTools, type NumberName } from './settings'

export function SettingsDialog({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [round, setRound] = useState(0) // "Back to defaults" increments it, which recreates the fields
  const { settings } = chat
  const [key, setKey] = useState(readKey)
  useLayoutEffect(() => dialog.current!.showModal(), [])

  // Settings are saved while the user types, so that no button can be forgotten.
  const change = (more: Partial<typeof settings>) => chat.setSettings({ ...chat.settings, ...more })
  const changeNumber = (name: NumberName, input: HTMLInputElement) => {
    if (!input.validity.valid) return
    change({ numbers: { ...chat.settings.numbers, [name]: input.value === '' ? null : input.valueAsNumber } })
  }
  const reset = () => {
    change({ ...readSettings(null), model: settings.model })
    setRound(round + 1)
  }
  const changeKey = (next: string) => {
    setKey(next)
    keepKey(next.trim())
  }
  const done = () => {
    if (key !== '' && !chat.models.length) void chat.loadModels()
    close()
  }
  const wrongTools = whyNoTools(settings.tools)
  return (
    <dialog ref={dialog} aria-labelledby="settings-title" onClose={done} onClick={event => event.target === dialog.current && dialog.current?.close()}>
      <form method="dialog" key={round}>
        <header>
          <h2 id="settings-title">Settings</h2>
          <button type="submit" class="icon" aria-label="Close"><Icon name="close" /></button>
        </header>
        {chat.models.length > 0 && (
          <label>
            Model
            <select id="model" value={chat.model()?.id} onChange={event => change({ model: event.currentTarget.value })}>
              {chat.models.map(model => <option value={model.id}>{model.id}</option>)}
            </select>
          </label>
        )}
        <label>
          System prompt
          <textarea id="system" rows={3} value={settings.system} onInput={event => change({ system: event.currentTarget.value })} />
        </label>
        <fieldset>
          <legend>Sampling <small>(empty: the model’s own)</small></legend>
          <div class="numbers">
            {NUMBERS.map(({ name, label, least, most, step, hint }) => (
              <label title={hint}>
                {label}
                <input id={name} type="number" min={least} max={most} step={step} inputMode="decimal" placeholder="default"
                  aria-describedby={`${name}-hint`} defaultValue={settings.numbers[name]?.toString() ?? ''} onInput={event => changeNumber(name, event.currentTarget)} />
                <small id={`${name}-hint`}>{hint}</small>
              </label>
            ))}
          </div>
        </fieldset>
        <details open={!!settings.tools}>
          <summary>Tools</summary>
          <label>
            OpenAI’s <code>tools</code>, as JSON. Calls are shown; what they give back is typed in.
            <textarea id="tools" rows={4} spellcheck={false} value={settings.tools} aria-invalid={!!wrongTools} onInput={event => change({ tools: event.currentTarget.value })} />
          </label>
          {wrongTools && <p class="wrong" role="alert">{wrongTools}</p>}
        </details>
        <label>
          API key
          <input id="key" type="password" autocomplete="off" value={key} onInput={event => changeKey(event.currentTarget.value)} />
          <small>Kept until this tab is closed. Needed where the server was started with --api-key and this page was opened without it.</small>
        </label>
        <div class="row">
          <button type="button" onClick={reset}>Back to defaults</button>
        </div>
      </form>
    </dialog>
  )
}
