import { chat } from './chat'
import { sentences } from './speech'

/** The answer in progress, for screen readers. It stays after its end, since text that is removed at once is not read. */
export function Spoken() {
  const { heard, current } = chat
  const message = heard && heard.conversation === current.id ? current.messages.find(one => one.id === heard.message) : undefined
  const whole = chat.answering?.message !== message?.id
  return (
    <div class="away" id="spoken" role="log" aria-live="polite" aria-label="The model’s answer">
      {message && <div key={message.id}>{sentences(message.content, whole).map((sentence, i) => <p key={i}>{sentence}</p>)}</div>}
    </div>
  )
}
