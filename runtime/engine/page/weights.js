// Weights by role: weights that differ only in the numbers in their names share a row.

const weightsShown = { filter: '', key: 'bytes', down: true, each: false }
const WEIGHT_COLUMNS = [['name', 'name'], ['format', 'format'], ['layout', 'layout'], ['shape', 'shape'], ['count', 'tensors'], ['elements', 'values'], ['bytes', 'bytes'], ['bits', 'bits a value']]

function weightRows(each) {
  const rows = new Map()
  program().weights.forEach((weight, index) => {
    const name = each ? weight.name : weight.name.replace(/\d+/g, '*'), elements = weight.shape.reduce((a, b) => a * b, 1)
    const key = [name, weight.format, weight.layout, weight.shape.join('×')].join('\n') + (each ? index : '')
    const row = rows.get(key) ?? { name, format: weight.format, layout: weight.layout, shape: weight.shape.join(' × '), count: 0, elements: 0, bytes: 0, source: weight.source }
    row.count++
    row.elements += elements
    row.bytes += weight.size
    rows.set(key, row)
  })
  return [...rows.values()].map(row => ({ ...row, bits: row.elements ? row.bytes * 8 / row.elements : 0 }))
}

function weightsView() {
  const body = el('tbody', {}), count = el('span', { class: 'soft small' })
  const head = el('tr', {}, WEIGHT_COLUMNS.map(([key, title]) => el('th', { class: `sort${['count', 'elements', 'bytes', 'bits'].includes(key) ? ' number' : ''}`, ...pressable(() => {
    weightsShown.down = weightsShown.key === key ? !weightsShown.down : !['name', 'format', 'layout', 'shape'].includes(key)
    weightsShown.key = key
    fill()
  }) }, title)))
  const fill = () => {
    const words = weightsShown.filter.toLowerCase().split(/\s+/).filter(Boolean)
    const rows = weightRows(weightsShown.each).filter(row => words.every(word => `${row.name} ${row.format} ${row.layout} ${row.shape} ${row.source}`.toLowerCase().includes(word)))
    const { key, down } = weightsShown
    rows.sort((a, b) => (typeof a[key] === 'number' ? a[key] - b[key] : a[key].localeCompare(b[key], 'en', { numeric: true })) * (down ? -1 : 1))
    const shown = rows.slice(0, 2000)
    body.replaceChildren(...shown.map(row => el('tr', {}, el('td', { class: 'mono' }, row.name), el('td', {}, row.format, row.source === 'seed' ? el('span', { class: 'soft small' }, ' seed') : null), el('td', { class: 'soft' }, row.layout), el('td', {}, row.shape),
      ...[grouped(row.count), countText(row.elements), bytesText(row.bytes), row.bits.toFixed(2)].map(cell => el('td', { class: 'number' }, cell)))))
    const sum = rows.reduce((all, row) => all + row.bytes, 0)
    count.textContent = `${grouped(rows.reduce((all, row) => all + row.count, 0))} tensors, ${bytesText(sum)}${rows.length > shown.length ? `; the first ${grouped(shown.length)} rows are shown` : ''}`
    head.querySelectorAll('th').forEach((th, i) => { th.textContent = WEIGHT_COLUMNS[i][1] + (WEIGHT_COLUMNS[i][0] === key ? (down ? ' ↓' : ' ↑') : '') })
  }
  const field = el('input', { type: 'search', placeholder: 'filter by name, format, shape', 'aria-label': 'filter weights', id: 'weight-filter', oninput: event => { weightsShown.filter = event.target.value; fill() } })
  field.value = weightsShown.filter
  const view = el('div', {}, formatBars(),
    el('div', { class: 'filter' }, field, choice('rows', [[false, 'by role'], [true, 'each']], weightsShown.each, value => { weightsShown.each = value; render() }), count),
    el('div', { class: 'scroll' }, el('table', { id: 'weights' }, el('thead', {}, head), body)))
  fill()
  return view
}

function formatBars() {
  const sums = new Map()
  for (const row of weightRows(false)) {
    const key = `${row.format} ${row.layout}`, sum = sums.get(key) ?? { bytes: 0, elements: 0 }
    sum.bytes += row.bytes
    sum.elements += row.elements
    sums.set(key, sum)
  }
  const all = [...sums].sort((a, b) => b[1].bytes - a[1].bytes), most = Math.max(...all.map(([, sum]) => sum.bytes), 1)
  return el('div', { class: 'bars' }, all.map(([key, sum]) => el('div', {}, el('span', {}, key), el('span', {}, el('i', { style: { width: `${Math.max(.5, 100 * sum.bytes / most)}%` } })),
    el('span', { class: 'soft' }, `${bytesText(sum.bytes)}, ${countText(sum.elements)} values, ${(sum.bytes * 8 / Math.max(1, sum.elements)).toFixed(2)} bits each`))))
}
