import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon } from '../look/Icon'
import { chat } from './chat'
import type { Conversation } from './conversation'

/** Returns whether the conversation contains every word of `sought`. */
function holds(conversation: Conversation, sought: string): boolean {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean)
  if (!words.length) return true
  const versions = conversation.forks?.flatMap(fork => fork.tails.flat()) ?? []
  const all = [conversation.title, ...[...conversation.messages, ...versions].map(message => message.content)].join('\n').toLowerCase()
  return words.every(word => all.includes(word))
}

export function History({ sought, open }: { sought: string; open: (id: string) => void }) {
  const [renaming, setRenaming] = useState('')
  const all = chat.conversations.filter(one => holds(one, sought))
  const found = [...all.filter(one => one.pinned), ...all.filter(one => !one.pinned)]
  return (
    <ul class="history">
      {found.map(one => {
        const title = one.title || 'Untitled'
        return (
          <li key={one.id} class={`${one.id === chat.current.id ? 'current' : ''}${one.pinned ? ' pinned' : ''}`}>
            {renaming === one.id
              ? <TitleField conversation={one} close={() => setRenaming('')} />
              : (
                <>
                  <button type="button" class="title" title={title} aria-current={one.id === chat.current.id ? 'true' : undefined}
                    onClick={() => open(one.id)} onDblClick={() => setRenaming(one.id)}>
                    {title}
                  </button>
                  <button type="button" class="icon small pin" aria-pressed={!!one.pinned} aria-label={`Pin: ${title}`} title={one.pinned ? 'Let it go from the top' : 'Keep at the top'}
                    onClick={() => chat.pin(one)}>
                    <Icon name="pin" />
                  </button>
                  <button type="button" class="icon small rename" aria-label={`Rename: ${title}`} title="Rename" onClick={() => setRenaming(one.id)}>
                    <Icon name="edit" />
                  </button>
                  <button type="button" class="icon small" aria-label={`Delete: ${title}`} title="Delete" onClick={() => chat.remove([one])}>
                    <Icon name="bin" />
                  </button>
                </>
              )}
          </li>
        )
      })}
      {!found.length && sought.trim() && <li class="none" role="status">No conversation has these words.</li>}
    </ul>
  )
}

/** Enter or leaving the field saves the name, Esc discards it; an empty name changes nothing. */
function TitleField({ conversation, close }: { conversation: Conversation; close: () => void }) {
  const field = useRef<HTMLInputElement>(null)
  const given = useRef(false)
  useEffect(() => field.current?.select(), [])
  const keep = () => {
    if (!given.current) chat.rename(conversation, field.current?.value ?? '')
    given.current = true
    close()
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Escape') given.current = true
    else if (event.key !== 'Enter' || event.isComposing) return
    event.preventDefault()
    event.stopPropagation()
    keep()
  }
  return <input ref={field} class="rename-field" aria-label="Name of the conversation" maxLength={200} defaultValue={conversation.title} onKeyDown={onKey} onBlur={keep} />
}
