import { useState } from 'preact/hooks'
import { asFailure } from '../api/failure'
import { postJson } from '../api/json'
import { Icon } from '../look/Icon'
import type { RequestReport } from './report'

const STATES = { queued: 'queued', prefill: 'reading the prompt', decode: 'answering' }

export function RequestTable({ model, requests, leftOut }: { model: string; requests: RequestReport[]; leftOut: number }) {
  const [ending, setEnding] = useState<string[]>([])
  const [said, setSaid] = useState('')
  const cancel = async (id: string) => {
    setEnding(ids => [...ids, id])
    try {
      await postJson('live/cancel', { model, id })
      setSaid(`Ended ${id}.`)
    } catch (error) {
      setSaid(`${id}: ${asFailure(error).why}`)
      setEnding(ids => ids.filter(one => one !== id))
    }
  }
  return (
    <>
    <div class="wide requests" tabIndex={0} role="group" aria-label="Requests">
      <table id="requests">
        <thead>
          <tr><th scope="col">Request</th><th scope="col">State</th><th scope="col">Prompt tokens</th><th scope="col">New tokens</th><th scope="col">Age</th><th scope="col"><span class="away">End it</span></th></tr>
        </thead>
        <tbody>
          {requests.map(request => (
            <tr key={request.id}>
              <td class="id">{request.id}{request.choices > 1 && ` × ${request.choices}`}</td>
              <td><span class={`state ${request.state}`}>{STATES[request.state]}</span></td>
              <td>{request.prompt_tokens.toLocaleString()}</td>
              <td>{request.new_tokens.toLocaleString()}</td>
              <td>{request.age_s.toFixed(1)} s</td>
              <td class="end">
                <button type="button" class="icon small cancel" disabled={ending.includes(request.id)} aria-label={`End ${request.id}`} title="End this request"
                  onClick={() => void cancel(request.id)}>
                  <Icon name="stop" />
                </button>
              </td>
            </tr>
          ))}
          {!requests.length && <tr><td colSpan={6} class="none">Nothing is under way.</td></tr>}
          {leftOut > 0 && <tr><td colSpan={6} class="none">and {leftOut.toLocaleString()} more</td></tr>}
        </tbody>
      </table>
    </div>
    <p class="said" role="status">{said}</p>
    </>
  )
}
