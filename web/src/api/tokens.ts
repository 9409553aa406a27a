// Counts the prompt tokens of a request on the server that would answer it.
import { BEYOND_CONTEXT } from './failure'
import { authorization } from './key'

export type TokenCount = { count: number; most: number }

/** Returns Infinity if the text is too long to be counted, and null if there is no tokenizer, template or server. */
export async function countTokens(body: Record<string, unknown>, signal: AbortSignal): Promise<TokenCount | null> {
  const { model, messages, tools } = body
  try {
    const response = await fetch('tokenize', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...authorization() },
      body: JSON.stringify({ model, messages, tools }),
      signal,
    })
    const answer = (await response.json()) as { count?: number; max_model_len?: number; error?: { code?: string } }
    if ([BEYOND_CONTEXT, 'context_length_exceeded'].includes(answer.error?.code ?? '')) return { count: Infinity, most: 0 }
    return answer.count && answer.max_model_len ? { count: answer.count, most: answer.max_model_len } : null
  } catch {
    return null
  }
}
