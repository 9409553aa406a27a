import type { RequestReport } from './report'

const STATES = { queued: 'queued', prefill: 'reading the prompt', decode: 'answering' }

export function RequestTable({ requests, leftOut }: { requests: RequestReport[]; leftOut: number }) {
  return (
    <div class="wide requests" tabIndex={0} role="group" aria-label="Requests">
      <table id="requests">
        <thead>
          <tr><th scope="col">Request</th><th scope="col">State</th><th scope="col">Prompt tokens</th><th scope="col">New tokens</th><th scope="col">Age</th></tr>
        </thead>
        <tbody>
          {requests.map(request => (
            <tr key={request.id}>
              <td class="id">{request.id}{request.choices > 1 && ` × ${request.choices}`}</td>
              <td><span class={`state ${request.state}`}>{STATES[request.state]}</span></td>
              <td>{request.prompt_tokens.toLocaleString()}</td>
              <td>{request.new_tokens.toLocaleString()}</td>
              <td>{request.age_s.toFixed(1)} s</td>
            </tr>
          ))}
          {!requests.length && <tr><td colSpan={5} class="none">Nothing is under way.</td></tr>}
          {leftOut > 0 && <tr><td colSpan={5} class="none">and {leftOut.toLocaleString()} more</td></tr>}
        </tbody>
      </table>
    </div>
  )
}
