import { useEffect, useState } from 'preact/hooks'
import { countTokens, type TokenCount as Count } from '../api/tokens'
import type { Attachment } from './attachment'
import { chat } from './chat'

const PAUSE = 350 // ms without a keystroke

/** The number of tokens that a request would have now, next to the model's maximum. */
export function TokenCount({ text, files }: { text: string; files: Attachment[] }) {
  const [count, setCount] = useState<Count | null>(null)
  const nothing = !text.trim() && !files.length
  useEffect(() => {
    if (nothing) return setCount(null)
    const stop = new AbortController()
    const timer = setTimeout(async () => {
      const found = await countTokens(chat.bodyWith(text, files), stop.signal)
      if (!stop.signal.aborted) setCount(found)
    }, PAUSE)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [text, files, chat.current.messages.length, chat.settings])
  const over = !!count && count.count >= count.most
  return (
    <span id="count" class={over ? 'over' : undefined} role="status" title="The whole request: the conversation, this message, and what the chat template adds">
      {count && !over && <span aria-hidden="true">{count.count.toLocaleString()} of {count.most.toLocaleString()} tokens</span>}
      {over && (count.most ? `${count.count.toLocaleString()} tokens of ${count.most.toLocaleString()}: too long` : 'too long for the model')}
    </span>
  )
}
