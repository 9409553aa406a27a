// The types of a conversation, and validation of conversations from an imported file or an older version of the page.

import type { Attachment } from './attachment'

export type ToolCall = { id: string; name: string; arguments: string }

export type Timing = {
  firstMs: number // from sending to the first piece of the answer
  perSecond: number // tokens after the first; 0 if there are none
  tokens: number
  promptTokens: number
  cachedTokens: number
}

/** stopped: the user stopped the answer; failed: it broke off. */
export type Ending = 'stop' | 'length' | 'tool_calls' | 'stopped' | 'failed'

export type Message = {
  id: string
  role: 'user' | 'assistant' | 'tool'
  content: string
  files?: Attachment[] // only in a user's message
  reasoning?: string
  toolCalls?: ToolCall[]
  toolCallId?: string // only in a tool's message: the id of its call
  timing?: Timing
  ending?: Ending
  model?: string
}

/** The versions of the conversation after one message. */
export type Fork = {
  after: string // id of the message before the versions; '': the beginning
  chosen: number
  tails: Message[][] // the messages of each version; those of the chosen one are in `messages`, and its entry here is empty
}

export type Conversation = {
  id: string
  title: string
  updated: number // ms since the epoch
  from: number // messages before this one are no longer sent
  messages: Message[]
  forks?: Fork[]
  pinned?: boolean
}

export function newId(): string {
  // There is no crypto.randomUUID if the page comes over plain http from another machine.
  return Array.from(crypto.getRandomValues(new Uint8Array(9)), byte => byte.toString(36).padStart(2, '0')).join('')
}

export function emptyConversation(): Conversation {
  return { id: newId(), title: '', updated: Date.now(), from: 0, messages: [] }
}

export function titleOf(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  return line.length > 60 ? `${line.slice(0, 59)}…` : line
}

// ------------------------------------------------------------- from outside

type Unknown = Record<string, unknown>

const isObject = (value: unknown): value is Unknown => typeof value === 'object' && value !== null && !Array.isArray(value)
const text = (value: unknown, most = 1 << 20): string => (typeof value === 'string' ? value.slice(0, most) : '')
const count = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0)

const ENDINGS: readonly string[] = ['stop', 'length', 'tool_calls', 'stopped', 'failed']

function readTiming(value: unknown): Timing | undefined {
  if (!isObject(value)) return undefined
  return {
    firstMs: count(value.firstMs),
    perSecond: count(value.perSecond),
    tokens: count(value.tokens),
    promptTokens: count(value.promptTokens),
    cachedTokens: count(value.cachedTokens),
  }
}

function readCalls(value: unknown): ToolCall[] | undefined {
  if (!Array.isArray(value) || !value.length) return undefined
  return value.filter(isObject).map(call => ({ id: text(call.id, 200), name: text(call.name, 200), arguments: text(call.arguments) }))
}

function readFiles(value: unknown): Attachment[] | undefined {
  if (!Array.isArray(value) || !value.length) return undefined
  return value.filter(isObject).map(file => ({ name: text(file.name, 200), text: text(file.text) }))
}

function readId(value: unknown): string {
  const id = text(value, 40)
  return /^[0-9a-z]{8,40}$/.test(id) ? id : newId()
}

function readFork(value: unknown): Fork | null {
  if (!isObject(value) || !Array.isArray(value.tails)) return null
  const tails = value.tails.slice(0, 256).map(tail => (Array.isArray(tail) ? tail.slice(0, 4096).map(readMessage) : [null]))
  if (tails.length < 2 || tails.some(tail => tail.some(message => !message))) return null
  const chosen = Math.min(Math.floor(count(value.chosen)), tails.length - 1)
  tails[chosen] = []
  return { after: text(value.after, 40), chosen, tails: tails as Message[][] }
}

/** Returns whether several messages have the same id. They could not be told apart, so all then get new ids. */
function hasTwins(messages: Message[], forks: Fork[]): boolean {
  const ids = [...messages, ...forks.flatMap(fork => fork.tails.flat())].map(message => message.id)
  return new Set(ids).size < ids.length
}

function readMessage(value: unknown): Message | null {
  if (!isObject(value) || typeof value.content !== 'string') return null
  if (value.role !== 'user' && value.role !== 'assistant' && value.role !== 'tool') return null
  const message: Message = { id: readId(value.id), role: value.role, content: text(value.content) }
  if (value.reasoning) message.reasoning = text(value.reasoning)
  if (value.toolCallId) message.toolCallId = text(value.toolCallId, 200)
  if (value.model) message.model = text(value.model, 200)
  message.toolCalls = readCalls(value.toolCalls)
  message.files = readFiles(value.files)
  message.timing = readTiming(value.timing)
  if (ENDINGS.includes(value.ending as string)) message.ending = value.ending as Ending
  return message
}

/** Reads a conversation; null if the value is not one. Only known fields are read, each with its expected type. */
export function readConversation(value: unknown): Conversation | null {
  if (!isObject(value) || !Array.isArray(value.messages)) return null
  const messages = value.messages.slice(0, 4096).map(readMessage)
  if (messages.some(message => !message)) return null
  const forks = (Array.isArray(value.forks) ? value.forks.slice(0, 1024).map(readFork) : []).filter(fork => fork !== null)
  const twins = hasTwins(messages as Message[], forks)
  if (twins) for (const message of messages) message!.id = newId()
  return {
    id: readId(value.id),
    ...(forks.length && !twins ? { forks } : {}),
    ...(value.pinned === true ? { pinned: true } : {}),
    title: text(value.title, 200),
    updated: count(value.updated) || Date.now(),
    from: Math.min(Math.floor(count(value.from)), messages.length),
    messages: messages as Message[],
  }
}

const FORMAT = 'ingot-conversations'

export function exportText(conversations: Conversation[]): string {
  return JSON.stringify({ format: FORMAT, version: 1, conversations }, null, 1)
}

/** Reads exported conversations. Throws an Error whose message is for the user. */
export function importText(json: string): Conversation[] {
  let file: unknown
  try {
    file = JSON.parse(json)
  } catch {
    throw new Error('This file is not JSON.')
  }
  if (!isObject(file) || file.format !== FORMAT || !Array.isArray(file.conversations))
    throw new Error('This file holds no conversations of this page.')
  const read = file.conversations.map(readConversation)
  const broken = read.findIndex(conversation => !conversation)
  if (broken >= 0) throw new Error(`Conversation ${broken + 1} of ${read.length} in this file is damaged. Nothing was imported.`)
  return read as Conversation[]
}
