// The reports of /live.json (runtime/server/api/Live.cpp), and the rates between two of them.

export type HistogramReport = { bounds: number[]; counts: number[]; count: number; sum: number; p50: number; p99: number }

export type RequestReport = {
  id: string
  state: 'queued' | 'prefill' | 'decode'
  choices: number
  prompt_tokens: number
  new_tokens: number
  age_s: number
}

export type ModelReport = {
  name: string
  up_s: number
  target: string
  device: string
  context: number
  max_seqs: number
  failure: string | null
  running: number
  waiting: number
  kv_pages_used: number
  kv_pages: number
  kv_pages_kept: number // available pages that still hold a cached prefix
  preemptions: number
  steps: number
  prompt_tokens: number
  generation_tokens: number
  refused: number
  prefix_queries: number
  prefix_hits: number
  step_seconds: number
  ttft: HistogramReport
  itl: HistogramReport
  requests: RequestReport[]
  requests_left_out: number
}

export type Report = { version: string; clock_s: number; draining: boolean; models: ModelReport[] }

/** New and prompt tokens per second between two reports, and the mean TTFT of requests that got their first token. */
export type Rate = { clock: number; decode: number; prompt: number; ttft: number | null }

export function rateBetween(old: Report | null, now: Report, name: string): Rate | null {
  const before = old?.models.find(model => model.name === name)
  const after = now.models.find(model => model.name === name)
  if (!old || !before || !after) return null
  const seconds = now.clock_s - old.clock_s
  const decode = after.generation_tokens - before.generation_tokens
  const prompt = after.prompt_tokens - before.prompt_tokens
  // Counts decrease if the process is new, or if another engine has replaced the old one.
  if (seconds <= 0 || decode < 0 || prompt < 0) return null
  const begun = after.ttft.count - before.ttft.count
  const ttft = begun > 0 ? (after.ttft.sum - before.ttft.sum) / begun : null
  return { clock: now.clock_s, decode: decode / seconds, prompt: prompt / seconds, ttft }
}
