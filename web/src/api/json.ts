import { failureOf, failureOfNetwork } from './failure'
import { authorization } from './key'

/** The JSON of a GET. Throws Failure. */
export async function getJson<T>(path: string): Promise<T> {
  let response: Response
  try {
    response = await fetch(path, { headers: authorization(), cache: 'no-store' })
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
