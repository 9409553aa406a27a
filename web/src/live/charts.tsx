// Two small charts, without a library: a line over time, and the bars of a histogram.
import type { HistogramReport, Rate } from './report'

export function duration(seconds: number): string {
  const ms = seconds * 1000
  if (ms < 1) return `${Number(ms.toPrecision(2))} ms`
  if (ms < 1000) return `${Number(ms.toPrecision(3))} ms`
  return seconds < 120 ? `${Number(seconds.toPrecision(3))} s` : `${Math.round(seconds / 60)} min`
}

/** The smallest round number that is not below `value`. */
function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(Math.max(value, 1)))
  return [1, 2, 5, 10].map(step => step * unit).find(step => step >= value) ?? value
}

/** Width of a chart in seconds: that of the data, but at least one minute and at most five. */
function span(rates: Rate[]): number {
  const seconds = rates.length ? rates[rates.length - 1].clock - rates[0].clock : 0
  return Math.min(300, Math.max(60, seconds))
}

export function RateChart({ rates }: { rates: Rate[] }) {
  const now = rates.at(-1)?.clock ?? 0
  const width = span(rates)
  const seen = rates.filter(rate => rate.clock >= now - width)
  const most = roundUp(Math.max(10, ...seen.map(rate => rate.decode)))
  const points = seen.map(rate => `${(1000 * (1 - (now - rate.clock) / width)).toFixed(1)},${(100 * (1 - rate.decode / most)).toFixed(1)}`)
  const first = points[0]?.split(',')[0]
  const words = `New tokens per second over time; now ${Math.round(rates.at(-1)?.decode ?? 0)}, at most ${Math.round(Math.max(0, ...seen.map(rate => rate.decode)))}`
  return (
    <figure class="chart rates">
      <figcaption>New tokens/s</figcaption>
      <div class="plot">
        <span class="top">{most.toLocaleString()}</span>
        <span class="middle">{(most / 2).toLocaleString()}</span>
        <svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label={words}>
          {points.length > 1 && <polygon points={`${first},100 ${points.join(' ')} 1000,100`} />}
          {points.length > 1 && <polyline points={points.join(' ')} />}
        </svg>
      </div>
      <div class="axis"><span>−{width < 120 ? `${Math.round(width)} s` : `${(width / 60).toFixed(1)} min`}</span><span>now</span></div>
    </figure>
  )
}

/** A point for each second in which a request got its first token. */
export function FirstTokenChart({ rates }: { rates: Rate[] }) {
  const now = rates.at(-1)?.clock ?? 0
  const width = span(rates)
  const seen = rates.filter(rate => rate.clock >= now - width && rate.ttft !== null) as (Rate & { ttft: number })[]
  const worst = Math.max(0, ...seen.map(rate => rate.ttft))
  const most = roundUp(Math.max(10, worst * 1000)) / 1000
  const last = seen.at(-1)
  const words = last ? `Time to the first token over time; lately ${duration(last.ttft)}, at most ${duration(worst)}` : 'Time to the first token over time: none yet'
  return (
    <figure class="chart rates first-token">
      <figcaption>Time to first token over time {last && <small>lately {duration(last.ttft)}</small>}</figcaption>
      <div class="plot">
        <span class="top">{duration(most)}</span>
        <span class="middle">{duration(most / 2)}</span>
        <svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label={words}>
          {seen.map(rate => {
            const x = (1000 * (1 - (now - rate.clock) / width)).toFixed(1)
            // The round caps of a line of length zero form a dot, however the picture is stretched.
            return <path d={`M${x},${(100 * (1 - rate.ttft / most)).toFixed(1)}h0`} />
          })}
        </svg>
      </div>
      <div class="axis"><span>−{width < 120 ? `${Math.round(width)} s` : `${(width / 60).toFixed(1)} min`}</span><span>now</span></div>
    </figure>
  )
}

/** Up to five bucket edges, evenly spaced. */
function edges(from: number, buckets: number): number[] {
  const parts = [4, 3, 2].find(n => buckets % n === 0) ?? 1
  return Array.from({ length: parts + 1 }, (_, i) => from + (i * buckets) / parts)
}

export function Bars({ title, histogram }: { title: string; histogram: HistogramReport }) {
  const { bounds, counts, count, p50, p99 } = histogram
  // Show the buckets from the first to the last that are not empty, and one more on each side.
  const first = counts.findIndex(n => n > 0)
  const last = counts.length - 1 - [...counts].reverse().findIndex(n => n > 0)
  const from = Math.max(0, (first < 0 ? 0 : first) - 1)
  const shown = first < 0 ? [] : counts.slice(from, last + 2)
  const most = Math.max(1, ...shown)
  const range = (i: number) =>
    i < bounds.length ? `${i ? duration(bounds[i - 1]) : '0'} to ${duration(bounds[i])}` : `over ${duration(bounds[bounds.length - 1])}`
  // The edge below bucket i is bound i - 1; above the last bound there is none.
  const label = (edge: number) => (edge <= 0 ? '0' : edge <= bounds.length ? duration(bounds[edge - 1]) : `> ${duration(bounds[bounds.length - 1])}`)
  const words = count ? `${title}: half within ${duration(p50)}, 99 of 100 within ${duration(p99)}, ${count} in all` : `${title}: none yet`
  return (
    <figure class="chart">
      <figcaption>{title} {count > 0 && <small>p50 {duration(p50)}, p99 {duration(p99)}, n {count.toLocaleString()}</small>}</figcaption>
      <div class="bars" role="img" aria-label={words}>
        {shown.map((n, i) => (
          <span title={`${range(from + i)}: ${n.toLocaleString()}`}><i style={{ height: `${n ? Math.max(2, (100 * n) / most) : 0}%` }} /></span>
        ))}
        {!shown.length && <em>none yet</em>}
      </div>
      {shown.length > 0 && (
        <div class="axis">
          {edges(from, shown.length).map(edge => <span>{label(edge)}</span>)}
        </div>
      )}
    </figure>
  )
}
