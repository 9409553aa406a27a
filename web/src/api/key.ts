// The API key lives as long as the tab.

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
    // Then requests go without.
  }
}

/** Without a key of its own the browser sends what the page itself was opened with. */
export function authorization(): Record<string, string> {
  const key = readKey()
  return key ? { Authorization: `Bearer ${key}` } : {}
}
