import { useRef, useState } from 'preact/hooks'
import { Icon } from '../look/Icon'
import { ThemeSwitch } from '../look/ThemeSwitch'
import { chat } from './chat'
import { History } from './History'

function download(name: string, text: string) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}

export function Sidebar({ close }: { close: () => void }) {
  const file = useRef<HTMLInputElement>(null)
  const [sought, setSought] = useState('')
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
      {!none && (
        <input type="search" id="search" aria-label="Search the conversations" placeholder="Search" value={sought}
          onInput={event => setSought(event.currentTarget.value)}
          onKeyDown={event => { if (event.key === 'Escape') { setSought(''); event.stopPropagation() } }} />
      )}
      <History sought={sought} open={open} />
      <div class="foot">
        <a class="worded" href="live"><Icon name="pulse" /> Live: what the server does</a>
        <ThemeSwitch worded />
        <button type="button" class="worded" id="export" disabled={none}
          onClick={() => download(`ingot-chats-${new Date().toISOString().slice(0, 10)}.json`, chat.exported())}>
          <Icon name="down" /> Export conversations
        </button>
        <button type="button" class="worded" id="import-button" onClick={() => file.current?.click()}><Icon name="up" /> Import conversations</button>
        <input type="file" id="import" hidden accept="application/json,.json" ref={file} onChange={importFile} />
        <button type="button" class="worded delete" id="delete-all" disabled={none} onClick={() => chat.remove(chat.conversations)}>
          <Icon name="bin" /> Delete all conversations
        </button>
      </div>
    </nav>
  )
}
