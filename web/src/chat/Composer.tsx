import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon } from '../look/Icon'
import { chat } from './chat'

export function Composer() {
  const [text, setText] = useState('')
  const area = useRef<HTMLTextAreaElement>(null)
  // As high as its text, up to a limit of the style sheet.
  useEffect(() => {
    const box = area.current!
    box.style.height = 'auto'
    box.style.height = `${box.scrollHeight}px`
  }, [text])
  // Not where it would open a keyboard over half the screen.
  useEffect(() => {
    if (matchMedia('(hover: hover)').matches) area.current?.focus()
  }, [])

  const answering = chat.answering
  const send = () => {
    if (!text.trim() || answering) return
    chat.send(text)
    setText('')
  }
  const onKey = (event: KeyboardEvent) => {
    // While a word is being composed (Japanese, Chinese …), Enter belongs to that.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    send()
  }
  return (
    <form class="composer" onSubmit={event => { event.preventDefault(); send() }}>
      <label class="away" for="question">Your message</label>
      <textarea id="question" ref={area} rows={1} value={text} placeholder="Ask something"
        onInput={event => setText(event.currentTarget.value)} onKeyDown={onKey} />
      {answering
        ? <button type="button" class="icon main" id="stop" aria-label="Stop the answer" title="Stop (Esc)" onClick={() => chat.stop()}><Icon name="stop" /></button>
        : <button type="submit" class="icon main" id="send" aria-label="Send" title="Send" disabled={!text.trim()}><Icon name="send" /></button>}
    </form>
  )
}
