// Streams an answer of /v1/chat/completions as events.
import { Failure, failureOf, failureOfNetwork } from './failure'
import { authorization } from './key'
import { serverSentEvents } from './events'

export type Usage = { prompt_tokens: number; completion_tokens: number; prompt_tokens_details?: { cached_tokens?: number } }

type ToolCallDelta = { index: number; id?: string; function?: { name?: string; arguments?: string } }
export type Delta = { content?: string | null; reasoning_content?: string | null; tool_calls?: ToolCallDelta[] }

type Chunk = {
  choices?: { delta?: Delta; finish_reason?: string | null }[]
  usage?: Usage | null
  error?: unknown
}

export type StreamEvents = {
  delta(delta: Delta): void
  finish(reason: string): void
  usage(usage: Usage): void
}

/** Streams an answer. Returns when it is complete, or when `signal` has aborted it. Throws Failure. */
export async function streamChat(body: Record<string, unknown>, events: StreamEvents, signal: AbortSignal): Promise<void> {
  let begun = false
  try {
    const response = await fetch('v1/chat/completions', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...authorization() },
      body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
      signal,
    })
    if (!response.ok || !response.body)
      throw failureOf(response.status, await response.json().catch(() => null), response.headers.get('Retry-After'))
    begun = true
    let whole = false
    for await (const data of serverSentEvents(response.body)) {
      if (data === '[DONE]') {
        whole = true
        break
      }
      const chunk = JSON.parse(data) as Chunk
      if (chunk.error) throw failureOf(0, chunk)
      const choice = chunk.choices?.[0]
      if (choice?.delta) events.delta(choice.delta)
      if (choice?.finish_reason) events.finish(choice.finish_reason)
      if (chunk.usage) events.usage(chunk.usage)
    }
    if (!whole) throw failureOfNetwork(true)
  } catch (error) {
    if (signal.aborted) return
    throw error instanceof Failure ? error : failureOfNetwork(begun)
  }
}
