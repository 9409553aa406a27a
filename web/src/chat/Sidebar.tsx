import { useRef } from 'preact/hooks'
import { Icon } from '../look/Icon'
import { chat } from './chat'

function download(name: string, text: string) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}

export function Sidebar({ close }: { close: () => void }) {
  const file = useRef<HTMLInputElement>(null)
  const open = (id: string | null) => {
    chat.open(id)
    close()
    document.querySelector<HTMLTextAreaElement>('#question')?.focus()
  }
  const importFile = async () => {
    const chosen = file.current?.files?.[0]
    if (chosen) chat.import(await chosen.text())
    if (file.current) file.current.value = ''
  }
  const none = !chat.conversations.length
  return (
    <nav aria-label="Conversations">
      <div class="row">
        <button type="button" class="wide-button" id="new" onClick={() => open(null)}><Icon name="plus" /> New chat</button>
        <button type="button" class="icon narrow" aria-label="Close the list" onClick={close}><Icon name="close" /></button>
      </div>
      <ul class="history">
        {chat.conversations.map(one => (
          <li key={one.id} class={one.id === chat.current.id ? 'current' : undefined}>
            <button type="button" class="title" title={one.title} aria-current={one.id === chat.current.id ? 'true' : undefined} onClick={() => open(one.id)}>
              {one.title || 'Untitled'}
            </button>
            <button type="button" class="icon small" aria-label={`Delete: ${one.title || 'Untitled'}`} title="Delete" onClick={() => chat.remove([one])}>
              <Icon name="bin" />
            </button>
          </li>
        ))}
      </ul>
      <div class="row foot">
        <button type="button" class="icon" id="export" disabled={none} aria-label="Export all conversations" title="Export all conversations"
          onClick={() => download(`ingot-chats-${new Date().toISOString().slice(0, 10)}.json`, chat.exported())}>
          <Icon name="down" />
        </button>
        <button type="button" class="icon" aria-label="Import conversations" title="Import conversations" onClick={() => file.current?.click()}>
          <Icon name="up" />
        </button>
        <input type="file" id="import" hidden accept="application/json,.json" ref={file} onChange={importFile} />
        <button type="button" class="icon" disabled={none} aria-label="Delete all conversations" title="Delete all conversations" onClick={() => chat.remove(chat.conversations)}>
          <Icon name="bin" />
        </button>
      </div>
    </nav>
  )
}
