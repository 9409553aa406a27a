// The theme: light, dark, or the system's. The choice is an attribute of <html>. look/base.css has the colours.

export type Theme = 'auto' | 'light' | 'dark'

const KEY = 'ingot.theme'

export function readTheme(): Theme {
  let kept: string | null = null
  try {
    kept = localStorage.getItem(KEY)
  } catch {
    // The browser provides no storage.
  }
  return kept === 'light' || kept === 'dark' ? kept : 'auto'
}

export function applyTheme(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export function keepTheme(theme: Theme): void {
  applyTheme(theme)
  try {
    if (theme === 'auto') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, theme)
  } catch {
    // Without storage, the choice lasts as long as the page.
  }
}
