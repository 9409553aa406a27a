import { useState } from 'preact/hooks'
import { Icon } from './Icon'
import { keepTheme, readTheme, type Theme } from './theme'

const NEXT: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' }
const WORDS: Record<Theme, string> = { auto: 'as the system', light: 'light', dark: 'dark' }

/** A button that cycles through the system's theme, light and dark. */
export function ThemeSwitch({ worded = false }: { worded?: boolean }) {
  const [theme, setTheme] = useState(readTheme)
  const change = () => {
    keepTheme(NEXT[theme])
    setTheme(NEXT[theme])
  }
  const words = `Colours: ${WORDS[theme]}. Change to ${WORDS[NEXT[theme]]}.`
  return (
    <button type="button" class={worded ? 'worded' : 'icon'} id="theme" data-theme-is={theme} aria-label={words} title={words} onClick={change}>
      <Icon name={theme === 'auto' ? 'half' : theme === 'light' ? 'sun' : 'moon'} />
      {worded && <span class="word">Colours: {WORDS[theme]}</span>}
    </button>
  )
}
