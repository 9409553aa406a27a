import type { Failure } from '../api/failure'
import { WithCode } from '../look/WithCode'
import { chat } from './chat'

type Props = { failure: Failure; ofModels: boolean; openSettings: () => void }

/** Shows what went wrong, why, and a button that may help. */
export function FailureNote({ failure, ofModels, openSettings }: Props) {
  const again = () => (ofModels ? void chat.loadModels() : chat.again())
  return (
    <div class="failure" role="alert">
      <strong>{failure.what}</strong>
      {failure.why && <p><WithCode text={failure.why} /></p>}
      <div class="row">
        {failure.way === 'shorten' && <button type="button" class="main" onClick={() => chat.shorten()}>Leave out the oldest messages</button>}
        {failure.way === 'key' && <button type="button" class="main" onClick={openSettings}>Give a key</button>}
        {failure.way === 'settings' && <button type="button" class="main" onClick={openSettings}>Look at the settings</button>}
        {failure.way !== 'none' && <button type="button" onClick={again}>Try again</button>}
      </div>
    </div>
  )
}
