import { useEffect, useState } from 'preact/hooks'
import { copyText } from './copyText'
import { Icon } from './Icon'

type Props = { text: () => string; label: string }

export function CopyButton({ text, label }: Props) {
  const [outcome, setOutcome] = useState<'' | 'copied' | 'failed'>('')
  useEffect(() => {
    if (!outcome) return
    const timer = setTimeout(() => setOutcome(''), 1500)
    return () => clearTimeout(timer)
  }, [outcome])
  const words = outcome === 'copied' ? 'Copied' : outcome === 'failed' ? 'The browser does not allow copying' : label
  const copy = async () => setOutcome((await copyText(text())) ? 'copied' : 'failed')
  return (
    <button type="button" class="icon small copy" aria-label={words} title={words} onClick={copy}>
      <Icon name={outcome === 'copied' ? 'done' : outcome === 'failed' ? 'close' : 'copy'} />
    </button>
  )
}
