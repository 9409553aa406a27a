// Builds the body of a request from a conversation.
import { withAttachments } from './attachment'
import type { Conversation, Message } from './conversation'
import { whyNoTools, type Settings } from './settings'

function apiMessage(message: Message): Record<string, unknown> {
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId, content: message.content }
  if (!message.toolCalls) return { role: message.role, content: withAttachments(message.content, message.files) }
  const calls = message.toolCalls.map(call => ({ id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } }))
  return { role: message.role, content: message.content || null, tool_calls: calls }
}

/** Returns the request for the next message of a conversation. */
export function requestBody(conversation: Conversation, settings: Settings): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  if (settings.model) body.model = settings.model
  const messages = conversation.messages.slice(conversation.from).map(apiMessage)
  body.messages = settings.system.trim() ? [{ role: 'system', content: settings.system }, ...messages] : messages
  for (const [name, number] of Object.entries(settings.numbers)) if (number !== null) body[name] = number
  if (settings.tools.trim() && !whyNoTools(settings.tools)) body.tools = JSON.parse(settings.tools)
  return body
}
