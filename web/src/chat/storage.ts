// Stores conversations and settings in localStorage, with one item for each, so that a growing answer rewrites only its
// own conversation. Browsers give a site about 5 MB. If an item does not fit, the page reports it and keeps the item in
// memory until the page is closed.
import { readConversation, type Conversation } from './conversation'
import { readSettings, type Settings } from './settings'

const CONVERSATION = 'ingot.chat.'
const SETTINGS = 'ingot.settings'

export function loadConversations(): Conversation[] {
  const found: Conversation[] = []
  try {
    for (let i = 0; i < localStorage.length; ++i) {
      const key = localStorage.key(i)
      if (!key?.startsWith(CONVERSATION)) continue
      const conversation = readItem(key)
      if (conversation) found.push(conversation)
    }
  } catch {
    // Without storage, the history is empty.
  }
  return found.sort((a, b) => b.updated - a.updated)
}

function readItem(key: string): Conversation | null {
  try {
    return readConversation(JSON.parse(localStorage.getItem(key) ?? 'null'))
  } catch {
    return null
  }
}

/** Saves a conversation. Returns false if there is no room. */
export function saveConversation(conversation: Conversation): boolean {
  try {
    localStorage.setItem(CONVERSATION + conversation.id, JSON.stringify(conversation))
    return true
  } catch {
    return false
  }
}

export function removeConversation(id: string): void {
  try {
    localStorage.removeItem(CONVERSATION + id)
  } catch {
    // Without storage, the conversation was not saved either.
  }
}

/** Calls `changed` when another tab has changed a conversation; null: it was removed. */
export function onOtherTab(changed: (id: string, conversation: Conversation | null) => void): void {
  addEventListener('storage', event => {
    if (event.key?.startsWith(CONVERSATION)) changed(event.key.slice(CONVERSATION.length), readItem(event.key))
  })
}

export function loadSettings(): Settings {
  try {
    return readSettings(JSON.parse(localStorage.getItem(SETTINGS) ?? 'null'))
  } catch {
    return readSettings(null)
  }
}

export function saveSettings(settings: Settings): void {
  try {
    localStorage.setItem(SETTINGS, JSON.stringify(settings))
  } catch {
    // Without storage, the settings last as long as the page.
  }
}
