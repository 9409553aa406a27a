// The API key, which is stored as long as the tab is open.

const KEY = 'ingot.key'

export function readKey(): string {
  try {
    return sessionStorage.getItem(KEY) ?? ''
  } catch {
    return ''
  }
}

export function keepKey(key: string): void {
  try {
    if (key) sessionStorage.setItem(KEY, key)
    else sessionStorage.removeItem(KEY)
  } catch {
    // Without storage, requests are sent without a key.
  }
}

/** Returns the header with the stored key. Without one, the browser sends the credentials that opened the page. */
export function authorization(): Record<string, string> {
  const key = readKey()
  return key ? { Authorization: `Bearer ${key}` } : {}
}
