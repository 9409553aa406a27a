// Search over everything: named things first, then lines of IR and of code.

let searchIndex = null // index of the program that is shown; built at the first search

function indexOf() {
  const all = []
  const add = (kind, title, sub, go, text = `${title} ${sub}`) => all.push({ kind, title, sub, go, text: text.toLowerCase() })
  for (const { number, section } of sectionsInOrder()) {
    add('Sections', `@${section.name}`, `${section.cases.length} case${section.cases.length === 1 ? '' : 's'}`, () => { show('model'); goToSection(number) })
    section.cases.forEach((one, c) => one.launches.forEach((launch, i) => {
      const names = operandsOf(number, c, i).map(operand => operand.name).join(' ')
      add('Launches', launch.kernel, `@${section.name}${whenText(one) ? `, ${whenText(one)}` : ''}: ${familyOf(launch.kernel)}`, () => choose([number, c, i]), `${launch.kernel} ${section.name} ${familyOf(launch.kernel)} ${names}`)
    }))
  }
  program().buffers.forEach(buffer => add('Buffers', buffer.name, `${grouped(buffer.bytes_per_unit)} bytes ${UNIT_OF_CLASS[buffer.class]} at ${grouped(buffer.offset)}`, () => show('arena')))
  program().weights.forEach(weight => add('Weights', weight.name, `${weight.format} ${weight.shape.join(' × ')}, ${bytesText(weight.size)}`, () => { weightsShown.filter = weight.name; weightsShown.each = true; show('weights') }))
  program().states.forEach(state => add('States', state.name, stateText(state).split('\n').at(-1), () => show('evidence')))
  engine.evidence.forEach(one => add('Evidence', one.pass, one.inputs, () => show('evidence')))
  for (const of of [engine, program()])
    Object.entries(of.provenance).forEach(([key, value]) => add('Provenance', key, String(value).replaceAll('\n', ' ').slice(0, 300), () => show('evidence')))
  return all
}

/** The first launch of a kernel, in any case of any section. */
function launchOf(kernel) {
  for (const { number, section } of sectionsInOrder())
    for (const [c, one] of section.cases.entries()) {
      const i = one.launches.findIndex(launch => launch.kernel === kernel)
      if (i >= 0) return [number, c, i]
    }
  return null
}

function linesWith(words, kind, kernel, text, where) {
  const hits = []
  const lines = text.split('\n')
  for (let i = 0; i < lines.length && hits.length < 3; ++i) {
    const low = lines[i].toLowerCase()
    if (words.every(word => low.includes(word)))
      hits.push({ kind, title: kernel, sub: lines[i].trim().slice(0, 300), go: () => { const at = launchOf(kernel); if (at) choose(at, { text: where, line: i }) } })
  }
  return hits
}

async function found(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (!words.length) return []
  const key = `${looked.program}`
  if (searchIndex?.key !== key) searchIndex = { key, all: indexOf() }
  const perKind = new Map()
  const take = hit => {
    const list = perKind.get(hit.kind) ?? perKind.set(hit.kind, []).get(hit.kind)
    if (list.length < 8) list.push(hit)
  }
  searchIndex.all.filter(hit => words.every(word => hit.text.includes(word)))
    .sort((a, b) => words.every(word => b.title.toLowerCase().includes(word)) - words.every(word => a.title.toLowerCase().includes(word))).forEach(take)
  if (query.trim().length >= 3) {
    for (const kernel of programText().kernels) linesWith(words, 'IR of kernels', kernel.name, kernel.ir, 'ir').forEach(take)
    const codes = await codeOf(looked.program, looked.target).catch(() => null)
    for (const [kernel, text] of Object.entries(codes ?? {})) linesWith(words, 'Code', kernel, text, 'code').forEach(take)
  }
  return [...perKind.values()].flat()
}

/** The text with the searched words marked. */
function marked(text, words) {
  const low = text.toLowerCase(), parts = []
  let at = 0
  while (at < text.length) {
    const next = words.map(word => [low.indexOf(word, at), word]).filter(([place]) => place >= 0).sort((a, b) => a[0] - b[0] || b[1].length - a[1].length)[0]
    if (!next) break
    parts.push(text.slice(at, next[0]), el('mark', {}, text.slice(next[0], next[0] + next[1].length)))
    at = next[0] + next[1].length
  }
  return [...parts, text.slice(at)]
}

function startSearch() {
  const field = byId('search'), list = byId('found')
  let hits = [], chosen = 0, asked = 0
  const close = () => { list.hidden = true; field.setAttribute('aria-expanded', 'false'); field.removeAttribute('aria-activedescendant') }
  const mark = to => {
    chosen = hits.length ? (to + hits.length) % hits.length : 0
    list.querySelectorAll('.hit').forEach((hit, i) => hit.setAttribute('aria-selected', String(i === chosen)))
    if (hits.length) field.setAttribute('aria-activedescendant', `hit-${chosen}`)
    byId(`hit-${chosen}`)?.scrollIntoView({ block: 'nearest' })
  }
  const go = hit => { close(); field.blur(); hit.go() }
  const search = async () => {
    const number = ++asked, query = field.value, words = query.toLowerCase().split(/\s+/).filter(Boolean)
    const now = await found(query)
    if (number !== asked) return
    hits = now
    if (!words.length) { close(); return }
    let kind = ''
    list.replaceChildren(...hits.flatMap((hit, i) => [hit.kind !== kind && el('h4', {}, kind = hit.kind),
      el('div', { class: 'hit', id: `hit-${i}`, role: 'option', onmousedown: event => event.preventDefault(), onclick: () => go(hit), onmousemove: () => mark(i) },
        el('b', {}, marked(hit.title, words)), el('span', {}, marked(hit.sub, words)))]).filter(Boolean))
    if (!hits.length) list.append(el('p', { class: 'soft', style: { margin: '.5rem' } }, 'No results.'))
    list.hidden = false
    field.setAttribute('aria-expanded', 'true')
    mark(0)
  }
  field.addEventListener('input', search)
  field.addEventListener('focus', () => { if (field.value) search() })
  field.addEventListener('blur', () => setTimeout(close, 100))
  field.addEventListener('keydown', event => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') { event.preventDefault(); mark(chosen + (event.key === 'ArrowDown' ? 1 : -1)) }
    else if (event.key === 'Enter' && hits[chosen] && !list.hidden) { event.preventDefault(); go(hits[chosen]) }
    else if (event.key === 'Escape') { close(); field.blur() }
  })
  addEventListener('keydown', event => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName)
    if ((event.key === '/' && !typing) || (event.key === 'k' && (event.ctrlKey || event.metaKey))) { event.preventDefault(); field.focus(); field.select() }
    else if (event.key === 'Escape' && !typing) document.querySelector('.details.open')?.classList.remove('open')
  })
}
