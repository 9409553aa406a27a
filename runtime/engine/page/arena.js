// The arena over a step: launches from left to right, offsets from bottom to top, and a rectangle for each buffer's
// lifetime. Buffers above each other in one column are alive at the same time; buffers beside each other share bytes.

const ARENAS = [['PerToken', 'bytes_per_token', 'Per token of a step'], ['PerRow', 'bytes_per_row', 'Per logits row'], ['Fixed', 'bytes_fixed', 'In all, whatever the step']]

function arenaView() {
  const memory = program().memory
  const launches = sectionsInOrder().flatMap(({ number, steps, section }) => section.cases[caseOf(number)].launches.map((launch, i) =>
    ({ launch, section: number, at: [number, caseOf(number), i], times: steps.length })))
  const view = el('div', {},
    choice('step', more.loads.map((load, i) => [i, ...loadText(load)]), looked.load, value => { looked.load = value; looked.cases = {}; render() }),
    el('div', { class: 'facts' }, ARENAS.map(([, key, name]) => el('div', {}, el('b', {}, `${grouped(memory[key])} B`), el('span', {}, name.toLowerCase()))),
      el('div', {}, el('b', {}, bytesText(arenaAtLimits())), el('span', {}, 'the arena at the limits below'))),
    el('p', { class: 'soft small' }, 'Layers of one kind are shown once. A rectangle ends with the last launch that needs its bytes; the dashed line is what the launch at that place has alive.'))
  for (const [name, key, title] of ARENAS) {
    const buffers = program().buffers.map((buffer, index) => ({ ...buffer, index })).filter(buffer => buffer.class === name)
    if (!buffers.length) continue
    const idle = buffers.filter(buffer => !livesOf(buffer.index, launches).length).map(buffer => buffer.name)
    view.append(el('h2', {}, title), arenaPicture(buffers, memory[key], launches, name))
    if (idle.length) view.append(el('p', { class: 'soft small' }, `In other cases alone: ${idle.join(', ')}.`))
  }
  view.append(el('h2', {}, 'Memory'), memoryTable())
  return view
}

const arenaAtLimits = () => program().memory.statement?.arena ?? program().statement?.arena ?? 0

/** Ranges of launches in which a buffer is alive. */
function livesOf(index, launches) {
  const touches = []
  launches.forEach(({ at }, column) => {
    const own = operandsOf(...at).filter(one => one.kind === 'Buffer' && one.index === index)
    if (own.length) touches.push({ column, section: at[0], effect: own.map(one => one.effect).join('') })
  })
  if (!touches.length) return []
  const bySection = Map.groupBy ? [...Map.groupBy(touches, touch => touch.section).values()] : groups(touches)
  // If a section reads the buffer before writing it, another section has written it. The buffer is then alive from
  // that section on, and in all steps of the section that reads it.
  const carried = bySection.some(list => !list[0].effect.startsWith('w')) || (bySection.length > 1 && isOutput(index)) || isOutput(index)
  if (!carried) return bySection.map(list => [list[0].column, list.at(-1).column])
  const first = Math.min(...touches.map(touch => touch.column)), last = touches.at(-1)
  if (isOutput(index)) return [[first, launches.length - 1]]
  // Whether the next layer of the same kind reads it.
  const again = launches[last.column].times > 1 && !bySection.find(list => list[0].section === last.section)[0].effect.startsWith('w')
  return [[first, again ? launches.findLastIndex(one => one.section === last.section) : last.column]]
}

const isOutput = index => entry().outputs.some(output => output.buffer === index)
const groups = touches => [...touches.reduce((map, touch) => map.set(touch.section, [...map.get(touch.section) ?? [], touch]), new Map()).values()]

function niceSteps(most, count) {
  const rough = most / count, power = 2 ** Math.floor(Math.log2(Math.max(rough, 1)))
  const step = [1, 2, 4].map(n => n * power).find(n => most / n <= count) ?? power * 4
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step)
}

function arenaPicture(buffers, total, launches, unit) {
  const holder = el('div', {})
  const draw = () => {
    const width = Math.max(300, holder.clientWidth), left = width < 600 ? 62 : 70, top = 34, bottom = 12
    const height = Math.max(120, Math.min(420, buffers.length * 26 + 80))
    const x = column => left + (width - left - 8) * column / Math.max(1, launches.length)
    const y = bytes => top + (height - top - bottom) * (1 - bytes / Math.max(1, total))
    const parts = [...arenaAxes(width, left, height, bottom, top, total, y), ...arenaSections(launches, x, y, top, height - bottom)]
    buffers.forEach(buffer => livesOf(buffer.index, launches).forEach(([from, to]) => {
      const box = { x: x(from) + .5, y: y(buffer.offset + buffer.bytes_per_unit), width: Math.max(2, x(to + 1) - x(from) - 1), height: Math.max(2, y(buffer.offset) - y(buffer.offset + buffer.bytes_per_unit)) }
      const colour = bufferColour(buffer.index), says = () => `${buffer.name}: ${grouped(buffer.bytes_per_unit)} bytes${unit === 'Fixed' ? '' : ` ${UNIT_OF_CLASS[unit]}`} at ${grouped(buffer.offset)}\nfrom ${launches[from].launch.kernel} to ${launches[to].launch.kernel}`
      parts.push(svgEl('rect', { class: 'hot', ...box, rx: 3, fill: colour, 'fill-opacity': .3, stroke: colour, onclick: () => choose(launches[from].at), ...tips(says) }))
      const fits = Math.floor((box.width - 8) / 6.2)
      if (box.height >= 12 && fits >= 2) parts.push(svgEl('text', { x: box.x + 4, y: box.y + box.height / 2 + 4, 'pointer-events': 'none' }, buffer.name.length > fits ? `${buffer.name.slice(0, fits - 1)}…` : buffer.name))
    }))
    parts.push(aliveLine(buffers, launches, x, y))
    holder.replaceChildren(svgEl('svg', { class: 'picture arena', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `buffers ${unit}` }, parts))
  }
  new ResizeObserver(draw).observe(holder)
  return holder
}

function arenaAxes(width, left, height, bottom, top, total, y) {
  const parts = [svgEl('line', { x1: left, x2: width - 8, y1: y(total), y2: y(total), stroke: 'var(--accent)', 'stroke-width': 1.5 }),
    svgEl('text', { x: left - 6, y: y(total) + 4, 'text-anchor': 'end', style: { fill: 'var(--accent)' } }, bytesText(total))]
  for (const bytes of niceSteps(total, 5))
    if (y(bytes) - y(total) > 14)
      parts.push(svgEl('line', { x1: left, x2: width - 8, y1: y(bytes), y2: y(bytes), stroke: 'var(--line)' }),
        svgEl('text', { class: 'soft', x: left - 6, y: y(bytes) + 4, 'text-anchor': 'end' }, bytesText(bytes)))
  return parts
}

/** The names of sections above their launches, and a column for each launch with its name as tooltip. */
function arenaSections(launches, x, y, top, bottom) {
  const parts = []
  launches.forEach(({ launch, section, at, times }, column) => {
    parts.push(svgEl('rect', { class: 'hot', x: x(column), y: top, width: x(column + 1) - x(column), height: bottom - top, fill: 'var(--text)', 'fill-opacity': column % 2 ? .025 : 0, onclick: () => choose(at), ...tips(() => launch.kernel) }))
    if (column && launches[column - 1].section === section) return
    const count = launches.filter(one => one.section === section).length, room = x(column + count) - x(column)
    const name = `@${program().sections[section].name}${times > 1 ? ` × ${times}` : ''}`, fits = Math.floor(room / 6.4)
    if (column) parts.push(svgEl('line', { x1: x(column), x2: x(column), y1: top - 6, y2: bottom, stroke: 'var(--soft)', 'stroke-dasharray': '2 3' }))
    if (fits >= 3) parts.push(svgEl('text', { class: 'soft', x: x(column) + 2, y: 14 }, name.length > fits ? `${name.slice(0, fits - 1)}…` : name))
  })
  return parts
}

/** A line that shows the bytes alive at each launch. */
function aliveLine(buffers, launches, x, y) {
  const alive = launches.map(() => 0)
  for (const buffer of buffers)
    for (const [from, to] of livesOf(buffer.index, launches))
      for (let i = from; i <= to; ++i) alive[i] += buffer.bytes_per_unit
  const points = alive.flatMap((bytes, i) => [`${x(i)},${y(bytes)}`, `${x(i + 1)},${y(bytes)}`])
  return svgEl('polyline', { points: points.join(' '), fill: 'none', stroke: 'var(--text)', 'stroke-width': 1.2, 'stroke-dasharray': '5 3', opacity: .6, 'pointer-events': 'none' })
}

const MEMORY = { mapped: 'the engine file, mapped', weights: 'weights in it', seeded: 'weights generated from the seed', arena: 'arena', kv: 'keys and values', states: 'fixed states', scratch: 'scratch of threads', batch: 'the batch',
  uploaded: 'copied to the device', staging: 'page-locked host memory', swap: 'swap', reserved: 'left to the driver', allocated: 'taken', total: 'all of it' }

function memoryTable() {
  const statement = program().statement
  if (!statement) return el('p', { class: 'soft' }, 'These limits do not fit.')
  const limits = Object.entries(statement.limits ?? {}).map(([key, value]) => `${key.replaceAll('_', ' ')} ${grouped(Number(value) || 0)}`).join(', ')
  return el('div', {}, el('p', { class: 'soft small' }, `With ${limits}.`), el('div', { class: 'scroll' }, el('table', { style: { 'max-width': '40rem' } },
    Object.entries(statement).filter(([key, value]) => typeof value === 'number' && MEMORY[key] && value > 0).map(([key, value]) =>
      el('tr', {}, el('th', {}, MEMORY[key]), el('td', { class: 'number' }, bytesText(value)), el('td', { class: 'number soft' }, grouped(value)))))))
}
