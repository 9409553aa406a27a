// The API key, stored as long as the tab is open.

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

/** Without a stored key, the browser sends the credentials with which the page was opened. */
export function authorization(): Record<string, string> {
  const key = readKey()
  return key ? { Authorization: `Bearer ${key}` } : {}
}
