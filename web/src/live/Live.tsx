import { useEffect, useState } from 'preact/hooks'
import { asFailure, type Failure } from '../api/failure'
import { getJson } from '../api/json'
import { keepKey, readKey } from '../api/key'
import { Icon } from '../look/Icon'
import { WithCode } from '../look/WithCode'
import { ThemeSwitch } from '../look/ThemeSwitch'
import { Bars, duration, FirstTokenChart, RateChart } from './charts'
import { RequestTable } from './RequestTable'
import { rateBetween, type ModelReport, type Rate, type Report } from './report'

const PERIOD = 1000 // ms between reports
const KEPT = 300 // rates per model: five minutes

type State = { report: Report | null; rates: Map<string, Rate[]>; failure: Failure | null }

function next(old: State, report: Report): State {
  const rates = new Map<string, Rate[]>()
  for (const { name } of report.models) {
    const rate = rateBetween(old.report, report, name)
    const kept = report.clock_s < (old.report?.clock_s ?? 0) ? [] : (old.rates.get(name) ?? [])
    rates.set(name, rate ? [...kept, rate].slice(-KEPT) : kept)
  }
  return { report, rates, failure: null }
}

function usePolled(): State {
  const [state, setState] = useState<State>({ report: null, rates: new Map(), failure: null })
  useEffect(() => {
    let timer = 0, ended = false
    const poll = async () => {
      // Do not poll while the page is hidden.
      if (!document.hidden) {
        try {
          const report = await getJson<Report>('live.json')
          setState(old => next(old, report))
        } catch (error) {
          setState(old => ({ ...old, failure: asFailure(error) }))
        }
      }
      if (!ended) timer = setTimeout(poll, PERIOD)
    }
    void poll()
    return () => {
      ended = true
      clearTimeout(timer)
    }
  }, [])
  return state
}

export function Live() {
  const { report, rates, failure } = usePolled()
  return (
    <main class={failure ? 'stale' : undefined}>
      <header>
        <h1>Live</h1>
        {report && <small>ingot {report.version} {report.draining ? '· shutting down' : ''}</small>}
        <span class="gap" />
        <a class="worded" href="./"><Icon name="talk" /> Chat</a>
        <ThemeSwitch worded />
      </header>
      {failure && (
        <div class="failure" role="alert">
          <strong>{failure.what}</strong> <WithCode text={failure.why} /> {report && 'What is below is old.'}
          {failure.way === 'key' && <KeyField />}
        </div>
      )}
      {report?.models.map(model => <Model key={model.name} model={model} rates={rates.get(model.name) ?? []} />)}
    </main>
  )
}

function KeyField() {
  return (
    <label>
      API key <input type="password" autocomplete="off" defaultValue={readKey()} onInput={event => keepKey(event.currentTarget.value.trim())} />
    </label>
  )
}

function Model({ model, rates }: { model: ModelReport; rates: Rate[] }) {
  const rate = rates.at(-1)
  const share = model.kv_pages ? model.kv_pages_used / model.kv_pages : 0
  return (
    <section aria-label={model.name}>
      <h2>{model.name} <small>{model.target}, {model.device} · {model.context.toLocaleString()} positions, {model.max_seqs} at once · up {uptime(model.up_s)}</small></h2>
      {model.failure && <p class="failure" role="alert"><strong>The device has failed.</strong> {model.failure}</p>}
      <dl class="tiles">
        <Tile name="Running" id="running" value={model.running} />
        <Tile name="Waiting" id="waiting" value={model.waiting} note={`${model.refused.toLocaleString()} refused`} />
        <Tile name="New tokens/s" id="rate" value={rate ? Math.round(rate.decode) : 0} note={`+ ${Math.round(rate?.prompt ?? 0)} of prompts`} />
        <Tile name="KV pages" id="pages" value={model.kv_pages_used} note={`of ${model.kv_pages.toLocaleString()}; ${model.kv_pages_kept.toLocaleString()} hold old prefixes`}>
          <div class="meter" role="meter" aria-label="KV pages in use" aria-valuemin={0} aria-valuemax={model.kv_pages} aria-valuenow={model.kv_pages_used}>
            <i style={{ width: `${share * 100}%` }} />
          </div>
        </Tile>
        <Tile name="New tokens" value={model.generation_tokens} note={`${model.prompt_tokens.toLocaleString()} of prompts`} />
        <Tile name="Steps" value={model.steps} note={model.steps ? `${duration(model.step_seconds / model.steps)} each` : 'none yet'} />
        <Tile name="Preemptions" value={model.preemptions} note="paused for others" />
        <Tile name="Prefix hits" value={model.prefix_queries ? `${Math.round((100 * model.prefix_hits) / model.prefix_queries)} %` : '–'} note="of prompt tokens" />
      </dl>
      <div class="charts">
        <RateChart rates={rates} />
        <FirstTokenChart rates={rates} />
        <Bars title="Time to first token" histogram={model.ttft} />
        <Bars title="Between tokens" histogram={model.itl} />
      </div>
      <RequestTable model={model.name} requests={model.requests} leftOut={model.requests_left_out} />
    </section>
  )
}

type TileProps = { name: string; id?: string; value: number | string; note?: string; children?: preact.ComponentChildren }

function Tile({ name, id, value, note, children }: TileProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd><b id={id}>{value.toLocaleString()}</b>{note && <small>{note}</small>}{children}</dd>
    </div>
  )
}

function uptime(seconds: number): string {
  if (seconds < 120) return `${Math.floor(seconds)} s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} days`
}
