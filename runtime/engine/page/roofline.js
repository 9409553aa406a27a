// The roofline: operations per byte against operations per second, both logarithmic. A ring is the prediction of
// the cost model for a kernel, a dot the measurement.

function rooflineView() {
  const limits = targetFigures()?.limits
  const points = rooflinePoints()
  const view = el('div', {},
    choice('step', more.loads.map((load, i) => [i, ...loadText(load)]), looked.load, value => { looked.load = value; looked.cases = {}; render() }))
  if (!limits) {
    view.append(el('p', { style: { 'margin-top': '1rem' } }, `There is no roofline: ${targetFigures()?.no_limits ?? 'no limits are known'}. `,
      'Write the page on the machine that runs the code, or choose another target.'), rooflineTable(points, null))
    return view
  }
  const measured = points.some(point => point.measured)
  view.append(el('p', { class: 'soft small', style: { 'margin-top': '.6rem' } }, `Limits: ${limits.source}. `,
    measured ? 'Dots were measured (inspect --roofline), rings are predicted.' : 'Rings are predicted; `ingot inspect ENGINE --html FILE --roofline` adds what is measured.', ' Launches whose rows are in a cache can exceed the limit.'),
    rooflinePicture(points.filter(point => point.operations > 0 && point.us > 0), limits), rooflineTable(points, limits))
  return view
}

/** Kernels of the step, with the sums over all their launches in it. */
function rooflinePoints() {
  const all = new Map()
  for (const { number, steps, section } of sectionsInOrder())
    section.cases[caseOf(number)].launches.forEach((launch, i) => {
      const work = workOf(number, caseOf(number), i)
      const point = all.get(launch.kernel) ?? { kernel: launch.kernel, at: [number, caseOf(number), i], launches: 0, bytes: 0, operations: 0, us: 0 }
      for (const key of ['bytes', 'operations', 'us']) point[key] += work[key] * steps.length
      point.launches += steps.length
      all.set(launch.kernel, point)
    })
  return [...all.values()].map(point => {
    const kernel = program().kernels[kernelNumber(point.kernel)]
    const arithmetic = kernel?.costs.find(one => one.target === targetFigures()?.target)?.arithmetic ?? 'F32'
    return { ...point, family: kernel?.family, arithmetic, measured: measuredUs(measuredOf(point.kernel), 1) }
  }).sort((a, b) => (b.us - a.us) || (b.bytes - a.bytes))
}

const RATES = { Int8: ['int8', 'int8'], Bf16: ['bf16', 'bf16'], F32: ['f32', 'f32'] }

function rooflinePicture(points, limits) {
  const holder = el('div', {})
  const rates = [...new Set(points.map(point => point.arithmetic))].map(name => ({ name: RATES[name][0], gops: limits[RATES[name][1]] })).filter(one => one.gops > 0)
  const top = Math.max(...rates.map(one => one.gops), 1)
  const xs = points.map(point => point.operations / point.bytes), ys = points.flatMap(point => [point.us, point.measured].filter(Boolean).map(us => point.operations / us / 1e3))
  const xFrom = Math.min(.1, ...xs) / 2, xTo = Math.max(top / limits.read * 4, ...xs.map(x => x * 2)), yTo = Math.max(top, ...ys) * 2.2, yFrom = Math.min(...ys, yTo / 1e3) / 2
  const draw = () => {
    const width = Math.max(300, holder.clientWidth), tall = width < 600 ? 320 : 440, left = width < 600 ? 50 : 64, bottom = 40
    const at = (value, from, to, low, high) => low + (high - low) * Math.log(value / from) / Math.log(to / from)
    const x = value => at(value, xFrom, xTo, left, width - 10), y = value => at(value, yFrom, yTo, tall - bottom, 10)
    const parts = rooflineAxes(width, tall, left, bottom, xFrom, xTo, yFrom, yTo, x, y)
    rates.sort((a, b) => b.gops - a.gops)
    let above = -Infinity
    for (const { name, gops } of rates) {
      const height = Math.max(y(gops) - 5, above + 13)
      above = height
      const ridge = Math.max(gops / limits.read, xFrom)
      parts.push(svgEl('line', { x1: x(ridge), x2: width - 10, y1: y(gops), y2: y(gops), stroke: 'var(--soft)', 'stroke-width': 2 }),
        svgEl('text', { x: width - 12, y: height, 'text-anchor': 'end' }, `${name} ${countText(gops * 1e9)}op/s`))
    }
    const start = Math.max(xFrom, yFrom / limits.read), end = top / limits.read
    parts.push(svgEl('line', { x1: x(start), y1: y(start * limits.read), x2: x(end), y2: y(end * limits.read), stroke: 'var(--soft)', 'stroke-width': 2 }))
    const label = start * (end / start) ** .3, angle = Math.atan2(y(end * limits.read) - y(start * limits.read), x(end) - x(start)) * 180 / Math.PI
    parts.push(svgEl('text', { x: x(label), y: y(label * limits.read) - 6, 'text-anchor': 'middle', transform: `rotate(${angle} ${x(label)} ${y(label * limits.read) - 6})` }, `memory ${limits.read.toFixed(1)} GB/s`))
    const whole = points.reduce((sum, point) => sum + point.us, 0)
    const labels = []
    parts.push(...points.map((point, i) => rooflinePoint(point, i, whole, x, y, labels)), ...labels.map(label => label.element))
    holder.replaceChildren(svgEl('svg', { class: 'picture roofline', width, height: tall, viewBox: `0 0 ${width} ${tall}`, role: 'img', 'aria-label': 'roofline' }, parts))
  }
  new ResizeObserver(draw).observe(holder)
  return holder
}

function rooflineAxes(width, height, left, bottom, xFrom, xTo, yFrom, yTo, x, y) {
  const parts = [], decades = (from, to) => Array.from({ length: Math.floor(Math.log10(to)) - Math.ceil(Math.log10(from)) + 1 }, (_, i) => 10 ** (Math.ceil(Math.log10(from)) + i))
  for (const value of decades(xFrom, xTo))
    parts.push(svgEl('line', { x1: x(value), x2: x(value), y1: 10, y2: height - bottom, stroke: 'var(--line)' }), svgEl('text', { class: 'soft', x: x(value), y: height - bottom + 16, 'text-anchor': 'middle' }, value >= 1 ? grouped(value) : String(+value.toPrecision(1))))
  for (const value of decades(yFrom, yTo))
    parts.push(svgEl('line', { x1: left, x2: width - 10, y1: y(value), y2: y(value), stroke: 'var(--line)' }), svgEl('text', { class: 'soft', x: left - 6, y: y(value) + 4, 'text-anchor': 'end' }, countText(value * 1e9)))
  parts.push(svgEl('text', { class: 'soft', x: (left + width) / 2, y: height - 6, 'text-anchor': 'middle' }, 'operations per byte'))
  parts.push(svgEl('text', { class: 'soft', x: left + 4, y: 20 }, 'operations per second'))
  return parts
}

/** A point is labelled with the number of its row in the table below, because names would overlap. */
function rooflinePoint(point, i, whole, x, y, labels) {
  const colour = familyColour(point.family), radius = 5 + 16 * Math.sqrt(point.us / whole), at = x(point.operations / point.bytes)
  const says = () => `${point.kernel} × ${point.launches}\n${(point.operations / point.bytes).toPrecision(3)} operations a byte\npredicted ${timeText(point.us)}: ${countText(point.operations / point.us * 1e6)}op/s${point.measured ? `\nmeasured ${timeText(point.measured)}: ${countText(point.operations / point.measured * 1e6)}op/s` : ''}`
  const height = y(point.operations / point.us / 1e3)
  const group = svgEl('g', { class: 'hot', onclick: () => choose(point.at), ...tips(says) },
    svgEl('circle', { cx: at, cy: height, r: radius, fill: colour, 'fill-opacity': .18, stroke: colour, 'stroke-width': 1.5 }))
  if (point.measured) {
    const real = y(point.operations / point.measured / 1e3)
    group.append(svgEl('line', { x1: at, x2: at, y1: height, y2: real, stroke: colour }), svgEl('circle', { cx: at, cy: real, r: 4, fill: colour }))
  }
  placeLabel(labels, String(i + 1), at, height, radius)
  return group
}

/** Places a label in the ring or, if another label is there, beside it with a line to it. */
function placeLabel(labels, text, x, y, radius) {
  const away = radius + 12
  const places = [[0, 0], [away, -away], [away, away], [-away, -away], [-away, away], [away * 1.6, 0], [0, -away * 1.6], [0, away * 1.6], [-away * 1.6, 0], [away * 2.2, -away * 1.2], [away * 2.2, away * 1.2]]
  const [dx, dy] = places.find(([dx, dy]) => labels.every(one => Math.abs(one.x - x - dx) > 13 || Math.abs(one.y - y - dy) > 12)) ?? places[0]
  const element = svgEl('g', { 'pointer-events': 'none' }, dx || dy ? svgEl('line', { x1: x, y1: y, x2: x + dx, y2: y + dy, stroke: 'var(--soft)', 'stroke-width': .7 }) : null,
    dx || dy ? svgEl('circle', { cx: x + dx, cy: y + dy, r: 8, fill: 'var(--page)' }) : null, svgEl('text', { x: x + dx, y: y + dy + 4, 'text-anchor': 'middle' }, text))
  labels.push({ x: x + dx, y: y + dy, element })
}

function rooflineTable(points, limits) {
  const whole = points.reduce((sum, point) => sum + point.us, 0), bytes = points.reduce((sum, point) => sum + point.bytes, 0)
  const bound = point => limits ? Math.max(point.bytes / limits.read / 1e3, point.operations / (limits[RATES[point.arithmetic][1]] || Infinity) / 1e3) : 0
  const measured = points.some(point => point.measured)
  let number = 0
  const heads = ['', 'kernel', 'launches', 'bytes', 'operations', 'per byte', limits && 'predicted', limits && 'share', measured && 'measured', limits && 'of the limit'].filter(head => head !== false && head !== null)
  return el('div', { class: 'scroll' }, el('table', {},
    el('tr', {}, heads.map((head, i) => el('th', { class: i > 1 ? 'number' : null }, head))),
    points.map(point => el('tr', {},
      el('td', { class: 'soft number' }, point.operations > 0 && point.us > 0 ? String(++number) : ''),
      el('td', {}, el('a', { href: '#', onclick: event => { event.preventDefault(); choose(point.at) } }, el('span', { class: 'mono' }, point.kernel)), ' ', el('span', { class: 'soft small' }, point.family)),
      ...[grouped(point.launches), bytesText(point.bytes), point.operations ? countText(point.operations) : '–', point.operations ? (point.operations / point.bytes).toPrecision(3) : '–',
        limits && timeText(point.us), limits && percent(whole ? point.us / whole : point.bytes / bytes), measured && timeText(point.measured),
        limits && percent(bound(point) / (point.measured || point.us || Infinity))].filter(cell => cell !== false && cell !== null).map(cell => el('td', { class: 'number' }, cell))))))
}
