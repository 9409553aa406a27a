import { failureOf, failureOfNetwork } from './failure'
import { authorization } from './key'

/** Returns the JSON response to a GET. Throws Failure. */
export function getJson<T>(path: string): Promise<T> {
  return askJson(path, { headers: authorization(), cache: 'no-store' })
}

/** Returns the JSON response to a POST. Throws Failure. */
export function postJson<T>(path: string, body: unknown): Promise<T> {
  return askJson(path, { method: 'POST', headers: { ...authorization(), 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
}

async function askJson<T>(path: string, init: RequestInit): Promise<T> {
  let response: Response
  try {
    response = await fetch(path, init)
  } catch {
    throw failureOfNetwork(false)
  }
  const body: unknown = await response.json().catch(() => null)
  if (!response.ok || body === null) throw failureOf(response.status, body, response.headers.get('Retry-After'))
  return body as T
}

export type Model = { id: string; max_model_len?: number }

export async function listModels(): Promise<Model[]> {
  return (await getJson<{ data: Model[] }>('v1/models')).data
}
