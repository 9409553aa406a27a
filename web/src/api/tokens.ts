// How many tokens a request would take in, asked of the server that would answer it.
import { authorization } from './key'

export type TokenCount = { count: number; most: number }

/** Null where there is nothing to say: no tokenizer, no template, no server. */
export async function countTokens(body: Record<string, unknown>, signal: AbortSignal): Promise<TokenCount | null> {
  const { model, messages, tools } = body
  try {
    const response = await fetch('tokenize', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...authorization() },
      body: JSON.stringify({ model, messages, tools }),
      signal,
    })
    const answer = response.ok ? ((await response.json()) as { count?: number; max_model_len?: number }) : {}
    return answer.count && answer.max_model_len ? { count: answer.count, most: answer.max_model_len } : null
  } catch {
    return null
  }
}
