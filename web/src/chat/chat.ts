// The state of the page, and the operations on it. Components render the state and call the operations. Their own
// state is only the text that is being typed.
//
// At most one answer is in progress. It continues in its own conversation while the user looks at another one.
import { streamChat, type Delta } from '../api/completions'
import { asFailure, Failure } from '../api/failure'
import { listModels, type Model } from '../api/json'
import type { Attachment } from './attachment'
import { emptyConversation, exportText, importText, newId, titleOf, type Conversation, type Message, type ToolCall } from './conversation'
import { branch, dropEmpty, turn } from './forks'
import { requestBody } from './requestBody'
import type { Settings } from './settings'
import * as storage from './storage'

type Answering = { conversation: string; message: string; stop: AbortController }

class Chat {
  conversations = storage.loadConversations()
  current: Conversation = emptyConversation() // in `conversations` once it has a message
  settings = storage.loadSettings()
  models: Model[] = []
  answering: Answering | null = null
  failure: { conversation: string; failure: Failure } | null = null
  notice = '' // a visible notice
  spoken = '' // a notice for screen readers
  heard: { conversation: string; message: string } | null = null // the answer that screen readers read aloud
  storageFull = false
  removed: Conversation[] = [] // removed by the last deletion; they can be restored until the next notice or answer

  private listeners = new Set<() => void>()
  private drawing = false
  private lastSave = 0

  constructor() {
    storage.onOtherTab((id, conversation) => {
      if (this.answering?.conversation === id) return // this tab has a newer state of the conversation
      this.conversations = this.conversations.filter(one => one.id !== id)
      if (conversation) this.conversations.unshift(conversation)
      this.conversations.sort((a, b) => b.updated - a.updated)
      if (this.current.id === id) this.current = conversation ?? emptyConversation()
      this.changed()
    })
    addEventListener('pagehide', () => this.saveAnswering(true))
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Renders once per frame, however many tokens arrive. */
  private changed() {
    if (this.drawing) return
    this.drawing = true
    const draw = () => {
      if (!this.drawing) return
      this.drawing = false
      for (const listener of this.listeners) listener()
    }
    requestAnimationFrame(draw)
    setTimeout(draw, 200) // a hidden page gets no frames
  }

  // ----------------------------------------------------------- models, settings

  async loadModels() {
    try {
      this.models = await listModels()
      if (this.failure?.conversation === '') this.failure = null
    } catch (error) {
      this.failure = { conversation: '', failure: asFailure(error) }
    }
    this.changed()
  }

  model(): Model | undefined {
    return this.models.find(model => model.id === this.settings.model) ?? this.models[0]
  }

  setSettings(settings: Settings) {
    this.settings = settings
    storage.saveSettings(settings)
    this.changed()
  }

  // ----------------------------------------------------------- conversations

  open(id: string | null) {
    this.current = this.conversations.find(one => one.id === id) ?? emptyConversation()
    this.heard = null // do not read an answer aloud again
    this.changed()
  }

  rename(conversation: Conversation, title: string) {
    const given = title.trim()
    if (!given || given === conversation.title) return
    conversation.title = given.slice(0, 200)
    this.save(conversation)
    this.changed()
  }

  pin(conversation: Conversation) {
    conversation.pinned = !conversation.pinned
    this.save(conversation)
    this.changed()
  }

  remove(which: Conversation[]) {
    if (which.some(one => one.id === this.answering?.conversation)) this.stop()
    this.conversations = this.conversations.filter(one => !which.includes(one))
    for (const { id } of which) storage.removeConversation(id)
    this.storageFull = false
    if (which.includes(this.current)) this.current = emptyConversation()
    this.say(which.length === 1 ? 'Deleted.' : `Deleted ${which.length} conversations.`)
    this.removed = which
  }

  undo() {
    this.conversations = [...this.conversations, ...this.removed].sort((a, b) => b.updated - a.updated)
    for (const conversation of this.removed) this.save(conversation)
    this.say('')
  }

  exported(): string {
    return exportText(this.conversations)
  }

  import(json: string) {
    try {
      const read = importText(json)
      for (const conversation of read) {
        // Existing conversations are kept.
        if (this.conversations.some(one => one.id === conversation.id)) conversation.id = newId()
        this.conversations.push(conversation)
        this.save(conversation)
      }
      this.conversations.sort((a, b) => b.updated - a.updated)
      this.say(read.length === 1 ? 'Imported one conversation.' : `Imported ${read.length} conversations.`)
    } catch (error) {
      this.say((error as Error).message)
    }
  }

  say(notice: string) {
    this.notice = notice
    this.removed = []
    this.changed()
  }

  // ----------------------------------------------------------- messages

  send(text: string, files: Attachment[] = []) {
    const content = text.trim()
    if (!content && !files.length) return
    if (this.answering) return this.say('The model is still answering. Stop it to send this, or wait.')
    const conversation = this.current
    if (!conversation.title) conversation.title = titleOf(content || files[0].name)
    this.append(conversation, { id: newId(), role: 'user', content, ...(files.length ? { files } : {}) })
    void this.answer(conversation)
  }

  /** Sends the results of the last message's tool calls, in the order of the calls. */
  sendResults(results: string[]) {
    const conversation = this.current
    const calls = conversation.messages.at(-1)?.toolCalls
    if (!calls || this.answering) return
    calls.forEach((call, i) => this.append(conversation, { id: newId(), role: 'tool', toolCallId: call.id, content: results[i] ?? '' }))
    void this.answer(conversation)
  }

  /** Requests a new version of the last answer, or an answer to the last message if it has none. */
  again() {
    const conversation = this.current
    if (this.answering || !conversation.messages.length) return
    const last = conversation.messages.at(-1)
    if (last?.role === 'assistant') {
      // Replace an answer that failed.
      if (last.ending === 'failed') this.cut(conversation, conversation.messages.length - 1)
      else branch(conversation, conversation.messages.length - 1)
    }
    void this.answer(conversation)
  }

  /** Edits a message. A user's message is sent as a new version. The last answer gets one, others are overwritten. */
  edit(id: string, text: string) {
    const conversation = this.current
    const at = conversation.messages.findIndex(message => message.id === id)
    const old = conversation.messages[at]
    if (!old || this.answering) return
    if (old.role === 'user') {
      branch(conversation, at)
      if (at === 0 && conversation.title === titleOf(old.content)) conversation.title = '' // a name that the user gave is kept
      return this.send(text, old.files)
    }
    const changed = { ...old, content: text, timing: undefined }
    if (at === conversation.messages.length - 1) {
      branch(conversation, at)
      return this.append(conversation, { ...changed, id: newId() })
    }
    conversation.messages = conversation.messages.map(message => (message === old ? changed : message))
    this.save(conversation)
    this.changed()
  }

  /** Shows another version of a message and of all that follows it. */
  turn(id: string, step: number) {
    const conversation = this.current
    if (this.answering?.conversation === conversation.id) return
    turn(conversation, conversation.messages.findIndex(message => message.id === id), step)
    this.save(conversation)
    this.changed()
  }

  /** Stops sending the oldest question and its answer, and requests an answer again. */
  shorten() {
    const conversation = this.current
    const messages = conversation.messages
    const next = messages.findIndex((message, i) => i > conversation.from && message.role === 'user')
    if (next < 0) {
      this.say('The last message alone is too long: edit it, or raise --context of the server.')
      return
    }
    conversation.from = next
    this.again()
  }

  stop() {
    this.answering?.stop.abort()
  }

  private append(conversation: Conversation, message: Message) {
    conversation.messages = [...conversation.messages, message]
    conversation.updated = Date.now()
    this.conversations = [conversation, ...this.conversations.filter(one => one !== conversation)]
    this.save(conversation)
    this.changed()
  }

  private cut(conversation: Conversation, length: number) {
    conversation.messages = conversation.messages.slice(0, length)
    conversation.from = Math.min(conversation.from, length)
  }

  private save(conversation: Conversation) {
    this.storageFull = !storage.saveConversation(conversation)
  }

  private saveAnswering(now: boolean) {
    const conversation = this.conversations.find(one => one.id === this.answering?.conversation)
    if (!conversation || (!now && Date.now() - this.lastSave < 1000)) return
    this.lastSave = Date.now()
    this.save(conversation)
  }

  /** Returns the request that would be sent for this text now. */
  bodyWith(text: string, files: Attachment[]): Record<string, unknown> {
    const draft: Message = { id: '', role: 'user', content: text.trim(), files }
    return requestBody({ ...this.current, messages: [...this.current.messages, draft] }, { ...this.settings, model: this.model()?.id ?? '' })
  }

  // ----------------------------------------------------------- an answer

  private async answer(conversation: Conversation) {
    // If the chosen model no longer exists, model() is the first one.
    const body = requestBody(conversation, { ...this.settings, model: this.model()?.id ?? '' })
    const stop = new AbortController()
    let message: Message = { id: newId(), role: 'assistant', content: '', model: this.model()?.id }
    this.failure = null
    this.notice = this.spoken = ''
    this.removed = []
    this.answering = { conversation: conversation.id, message: message.id, stop }
    this.heard = { conversation: conversation.id, message: message.id }
    const grown = (more: Partial<Message>) => {
      message = { ...message, ...more }
      conversation.messages = [...conversation.messages.slice(0, -1), message]
      this.saveAnswering(false)
      this.changed()
    }
    this.append(conversation, message)

    const sent = performance.now()
    let first = 0, last = 0
    try {
      await streamChat(body, {
        delta: delta => {
          const more = added(message, delta)
          if (!more) return
          last = performance.now()
          first ||= last
          grown(more)
        },
        finish: reason => grown({ ending: reason === 'length' || reason === 'tool_calls' ? reason : 'stop' }),
        usage: usage => grown({
          timing: {
            firstMs: first ? first - sent : 0,
            perSecond: usage.completion_tokens > 1 && last - first > 10 ? ((usage.completion_tokens - 1) * 1000) / (last - first) : 0,
            tokens: usage.completion_tokens,
            promptTokens: usage.prompt_tokens,
            cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
          },
        }),
      }, stop.signal)
      if (stop.signal.aborted) grown({ ending: 'stopped' })
      this.spoken = stop.signal.aborted ? 'Stopped.' : 'The answer is complete.'
    } catch (error) {
      const failure = asFailure(error)
      this.failure = { conversation: conversation.id, failure }
      if (failure.way === 'settings') void this.loadModels() // the server may have other models now
      grown({ ending: 'failed' })
    }
    this.answering = null
    // Remove an answer that never began.
    if (!message.content && !message.reasoning && !message.toolCalls && message.ending !== 'stop') {
      this.cut(conversation, conversation.messages.length - 1)
      dropEmpty(conversation)
    }
    if (this.conversations.includes(conversation)) this.save(conversation)
    this.changed()
  }
}

/** Returns the changes that a piece of the stream makes to a message; null: none. */
function added(message: Message, delta: Delta): Partial<Message> | null {
  if (delta.tool_calls) {
    const calls: ToolCall[] = [...(message.toolCalls ?? [])]
    for (const { index, id, function: called } of delta.tool_calls) {
      const old = calls[index] ?? { id: '', name: '', arguments: '' }
      calls[index] = { id: id ?? old.id, name: old.name + (called?.name ?? ''), arguments: old.arguments + (called?.arguments ?? '') }
    }
    return { toolCalls: calls }
  }
  if (delta.reasoning_content) return { reasoning: (message.reasoning ?? '') + delta.reasoning_content }
  return delta.content ? { content: message.content + delta.content } : null
}

export const chat = new Chat()
