// Draws the launches of a section in a column, and to their left a lane for each buffer that is alive. A dot marks a
// launch that writes the buffer, a ring one that reads it. If a buffer passes between sections, its lane begins above
// the first launch or continues below the last.

const LANE = 13

function flowOf(sectionNumber, caseNumber, launches, work, total) {
  const operands = launches.map((_, i) => operandsOf(sectionNumber, caseNumber, i))
  const lanes = lanesOf(sectionNumber, operands)
  const width = lanes.count * LANE + 10
  const flow = el('div', { class: 'flow', style: { 'padding-left': `${width}px` } })
  const boxes = launches.map((launch, i) => {
    const box = launchBox(launch, operands[i], work[i], total, lanes, [sectionNumber, caseNumber, i])
    flow.append(box)
    if (launch.barrier && i + 1 < launches.length) flow.append(el('div', { class: 'barrier', title: 'the next launch waits until all threads are done with this one' }))
    return box
  })
  const picture = svgEl('svg', { width, height: 10, 'aria-hidden': 'true' })
  flow.append(picture)
  new ResizeObserver(() => drawLanes(picture, boxes, lanes, width)).observe(flow)
  return flow
}

/** For each buffer, the rows that touch it, and a column that is free from the first of them to the last. */
function lanesOf(sectionNumber, operands) {
  const byBuffer = new Map()
  operands.forEach((list, row) => list.forEach(operand => {
    if (operand.kind !== 'Buffer') return
    if (!byBuffer.has(operand.index)) byBuffer.set(operand.index, { name: operand.name, index: operand.index, touches: [] })
    const touches = byBuffer.get(operand.index).touches, last = touches.at(-1)
    if (last?.row === row) last.effect = [...new Set(last.effect + operand.effect)].join('')
    else touches.push({ row, effect: operand.effect })
  }))
  const all = [...byBuffer.values()].map(one => {
    const { touches } = one, outside = isTouchedElsewhere(one.index, sectionNumber)
    // A buffer that is read before it is written comes from another section, or from the previous layer.
    const comes = !touches[0].effect.startsWith('w') && (outside || touches[0].effect.startsWith('r'))
    const leaves = outside || (comes && touches.some(touch => touch.effect.includes('w')))
    return { ...one, comes, leaves, from: comes ? -1 : touches[0].row, to: leaves ? operands.length : touches.at(-1).row }
  }).sort((a, b) => (b.to - b.from) - (a.to - a.from) || a.from - b.from)
  const columns = [] // the occupied ranges of each column; buffers with the longest lifetimes get the left ones
  for (const one of all) {
    let column = columns.findIndex(taken => taken.every(([from, to]) => one.to < from || one.from > to))
    if (column < 0) column = columns.push([]) - 1
    columns[column].push([one.from, one.to])
    one.column = column
    one.colour = bufferColour(one.index)
  }
  return { all, count: Math.max(1, columns.length), of: new Map(all.map(one => [one.index, one])) }
}

function isTouchedElsewhere(buffer, sectionNumber) {
  if (entry().outputs.some(output => output.buffer === buffer)) return true
  return program().sections.some((section, i) => i !== sectionNumber && section.cases.some(one =>
    one.launches.some(launch => launch.args.some(([kind, index]) => kind === 'Buffer' && index === buffer))))
}

function drawLanes(picture, boxes, lanes, width) {
  const middle = row => boxes[row].offsetTop + Math.min(18, boxes[row].offsetHeight / 2)
  const height = boxes.at(-1).offsetTop + boxes.at(-1).offsetHeight + 8
  picture.setAttribute('height', height)
  const parts = []
  for (const one of lanes.all) {
    const x = one.column * LANE + 7, top = one.comes ? -6 : middle(one.from), bottom = one.leaves ? height : middle(one.to)
    parts.push(svgEl('line', { class: 'lane', x1: x, x2: x, y1: top, y2: bottom, stroke: one.colour, 'stroke-width': 3, 'stroke-linecap': 'round' },
      svgEl('title', {}, `${one.name}${one.comes ? ', from before' : ''}${one.leaves ? ', read later' : ''}`)))
    if (one.leaves) parts.push(svgEl('path', { d: `M${x - 4},${height - 6} l4,6 l4,-6`, fill: 'none', stroke: one.colour, 'stroke-width': 2 }))
    one.touches.forEach(({ row, effect }, i) => {
      const y = middle(row) + (one.column % 3) * 3 - 3
      parts.push(svgEl('line', { x1: x, x2: width, y1: y, y2: y, stroke: one.colour, 'stroke-width': 1, opacity: .55 }))
      const written = effect.includes('w')
      parts.push(svgEl('circle', { cx: x, cy: y, r: 4, fill: written ? one.colour : 'var(--panel)', stroke: one.colour, 'stroke-width': 2 }))
      if (effect === 'rw') parts.push(svgEl('circle', { cx: x, cy: y, r: 1.3, fill: 'var(--panel)' }))
    })
  }
  picture.replaceChildren(...parts)
}

const chip = (operand, colour) => {
  const { kind, name, weight, state, ofLayer } = operand
  if (kind === 'Buffer') return el('span', { class: 'chip buffer', ...tips(() => bufferText(operand)) }, el('i', { style: { background: colour } }), name)
  if (kind === 'State') return el('span', { class: 'chip state', ...tips(() => stateText(state)) }, name, ofLayer ? ' …' : '')
  return el('span', { class: 'chip weight', ...tips(() => `${name}\n${weight?.format ?? ''} ${weight?.shape?.join(' × ') ?? ''}${ofLayer ? '\none per layer' : ''}`) },
    `${shortWeight(name)}${weight ? ` ${bytesText(weight.size)}` : ''}`)
}

const shortWeight = name => name.replace(/^(blk|model\.layers)\.\d+\./, '').replace(/\.weight$/, '')
const UNIT_OF_CLASS = { PerToken: 'a token', PerRow: 'a logits row', Fixed: 'in all' }
const bufferText = ({ name, buffer }) => `${name}: ${grouped(buffer.bytes_per_unit)} bytes ${UNIT_OF_CLASS[buffer.class]}, at ${grouped(buffer.offset)}`
const stateText = state => !state ? '' : `${state.name}: ${state.streams.map(s => `${s.name} ${s.heads} × ${s.width} ${s.format}`).join(', ')}${
  state.kind === 'Paged' ? `\n${grouped(state.page_bytes)} bytes a page` : `\n${grouped(state.slot_bytes)} bytes a slot`}${state.window ? `, a window of ${state.window}` : ''}`

function launchBox(launch, operands, work, total, lanes, at) {
  const family = familyOf(launch.kernel)
  const steps = entry().steps.filter(step => step.section === at[0]).length
  const part = total.us ? work.us * steps / total.us : total.bytes ? work.bytes * steps / total.bytes : 0
  const unique = list => [...new Map(list.map(one => [`${one.kind}${one.index}`, one])).values()]
  const buffers = operands.filter(one => one.kind === 'Buffer'), known = buffers.some(one => one.effect)
  const chips = list => unique(list).map(one => chip(one, lanes.of.get(one.index)?.colour))
  const read = buffers.filter(one => !known || one.effect.includes('r')), written = buffers.filter(one => one.effect.includes('w'))
  return el('div', { class: 'launch', 'data-at': at.join('.'), style: { '--family': familyColour(family) }, ...pressable(() => choose(at)) },
    el('div', { class: 'line' }, el('b', { class: 'mono' }, launch.kernel), el('span', { class: 'soft small' }, family),
      el('span', { class: 'time' }, work.us ? timeText(work.us) : bytesText(work.bytes), el('span', { class: 'soft small' }, `  ${percent(part)}`))),
    el('div', { class: 'meter' }, el('i', { style: { width: `${Math.min(100, part * 100)}%` } })),
    el('div', { class: 'chips' }, chips(read), written.length > 0 && el('span', { class: 'arrow' }, '→'), chips(written),
      chips(operands.filter(one => one.kind !== 'Buffer'))))
}
