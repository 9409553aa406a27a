// The model: sections in the order of a step, each a list of launches with the buffers that pass between them.

function modelView() {
  const sections = sectionsInOrder(), total = stepWork()
  const view = el('div', {}, stepHead(total), layerStrip(sections))
  const list = el('div', {}, sections.map(one => sectionCard(one, total)), loneSections(sections))
  const details = el('aside', { class: 'details', 'aria-label': 'details' })
  view.append(el('div', { class: 'split' }, list, details))
  if (!looked.launch || !stillThere(looked.launch)) looked.launch = largestLaunch(sections)
  showDetails(details, looked.launch)
  markChosen(view)
  return view
}

const stillThere = ([section, number, launch]) => program().sections[section]?.cases[number]?.launches[launch] && caseOf(section) === number

function largestLaunch(sections) {
  let best = null, most = -1
  for (const { number, steps, section } of sections)
    section.cases[caseOf(number)].launches.forEach((_, i) => {
      const work = workOf(number, caseOf(number), i), weight = (work.us || work.bytes / 1e6) * steps.length
      if (weight > most) { most = weight; best = [number, caseOf(number), i] }
    })
  return best
}

function stepHead(total) {
  const limits = targetFigures()?.limits
  const facts = [[grouped(total.launches), 'launches in a step'], [bytesText(total.bytes), 'read and written']]
  if (total.operations) facts.push([countText(total.operations), 'operations'])
  facts.push([timeText(total.us), limits ? 'predicted by the cost model' : 'no prediction here'])
  if (total.us && more.loads[looked.load]) {
    const { sequences, tokens } = more.loads[looked.load]
    facts.push([countText(sequences * tokens / total.us * 1e6), 'tokens per second'])
  }
  const measured = measuredStep()
  if (measured) facts.push([timeText(measured), 'measured here'])
  return el('div', {},
    choice('step', more.loads.map((load, i) => [i, ...loadText(load)]), looked.load, value => { looked.load = value; looked.cases = {}; render() }),
    el('div', { class: 'facts' }, facts.map(([value, what]) => el('div', {}, el('b', {}, value), el('span', {}, what)))),
    shareBar(total),
    el('p', { class: 'soft small' }, limits ? `Limits: ${limits.source}.` : `No times: ${targetFigures()?.no_limits ?? 'there is no prediction'}.`))
}

const measuredStep = () => measuredRows().reduce((sum, row) => sum + (measuredUs(row, 1) || 0), 0)

/** The share of each launch in a step's time, in the colours of the families. */
function shareBar(total) {
  const parts = []
  for (const { number, steps, section } of sectionsInOrder())
    section.cases[caseOf(number)].launches.forEach((launch, i) => {
      const work = workOf(number, caseOf(number), i)
      const part = total.us ? work.us * steps.length / total.us : total.bytes ? work.bytes * steps.length / total.bytes : 0
      parts.push({ launch, part, us: work.us * steps.length, times: steps.length, at: [number, caseOf(number), i] })
    })
  const bar = el('div', { class: 'share' }, parts.map(one => el('i', {
    style: { width: `${one.part * 100}%`, background: familyColour(familyOf(one.launch.kernel)) },
    onclick: () => choose(one.at),
    ...tips(() => `${one.launch.kernel} × ${one.times}: ${percent(one.part)} of the ${total.us ? 'time' : 'bytes'}${one.us ? `, ${timeText(one.us)}` : ''}`),
  })))
  const byFamily = new Map()
  for (const one of parts) byFamily.set(familyOf(one.launch.kernel), (byFamily.get(familyOf(one.launch.kernel)) ?? 0) + one.part)
  return [bar, el('div', { class: 'legend' }, [...byFamily].sort((a, b) => b[1] - a[1]).map(([family, part]) =>
    el('span', {}, el('i', { style: { background: familyColour(family) } }), `${family} ${percent(part)}`)))]
}

/** All steps in order, with the kind of each layer. */
function layerStrip(sections) {
  const colours = new Map(sections.filter(one => one.steps[0].layer >= 0).map((one, i) => [one.number, `var(--c${i % 8})`]))
  if (!colours.size) return null
  return el('div', { class: 'strip', 'aria-label': 'steps in order' }, entry().steps.map(step => {
    const name = program().sections[step.section].name
    return el('button', { type: 'button', style: { 'border-bottom-color': colours.get(step.section) ?? 'var(--soft)' },
      onclick: () => goToSection(step.section), ...tips(() => step.layer >= 0 ? `layer ${step.layer}: @${name}` : `@${name}`) },
      step.layer >= 0 ? String(step.layer) : name)
  }))
}

function goToSection(number) {
  const card = byId(`section-${number}`)
  card?.scrollIntoView({ block: 'start' })
  flash(card)
}

function flash(element) {
  element?.classList.remove('flash')
  void element?.offsetWidth
  element?.classList.add('flash')
}

function sectionCard({ number, steps, section }, total) {
  const chosen = caseOf(number), launches = section.cases[chosen].launches
  const work = launches.map((_, i) => workOf(number, chosen, i)), sum = sumOf(work)
  const layers = steps.filter(step => step.layer >= 0).length
  const times = steps.length > 1 ? `run ${steps.length} times in a step` : layers ? 'run once, for one layer' : 'run once in a step'
  const card = el('section', { class: 'card', id: `section-${number}` },
    el('div', { class: 'top' }, el('h2', {}, `@${section.name}${steps.length > 1 ? ` × ${steps.length}` : ''}`),
      el('span', { class: 'soft small' }, [`${launches.length} launch${launches.length === 1 ? '' : 'es'}`, times, bytesText(sum.bytes), sum.us ? timeText(sum.us) : ''].filter(Boolean).join(', '))),
    section.cases.length > 1 && caseChoice(number, section, chosen))
  if (!launches.length) card.append(el('p', { class: 'soft small' }, 'Nothing is launched in this case.'))
  else card.append(flowOf(number, chosen, launches, work, total))
  return card
}

const caseChoice = (number, section, chosen) => el('div', { class: 'cases', role: 'group', 'aria-label': `cases of ${section.name}` }, section.cases.map((one, i) =>
  el('button', { type: 'button', 'aria-pressed': String(i === chosen), onclick: () => { looked.cases[`${looked.program}.${number}`] = i; looked.launch = one.launches.length ? [number, i, 0] : null; render() } },
    `${whenText(one) || 'every other step'} (${one.launches.length})`)))

/** Sections that no step of the entry runs. */
function loneSections(sections) {
  const names = program().sections.filter((_, i) => !sections.some(one => one.number === i)).map(one => `@${one.name}`)
  return names.length ? el('p', { class: 'soft small' }, `No step of "${entry().name}" runs ${names.join(', ')}.`) : null
}

/** Shows a launch in the model view; switches to that view if necessary. */
function choose(at, more_) {
  looked.launch = at
  const [section, number] = at
  const otherCase = caseOf(section) !== number
  if (otherCase) looked.cases[`${looked.program}.${section}`] = number
  if (looked.view !== 'model' || otherCase) { looked.view = 'model'; render() }
  else markChosen(byId('view'))
  const details = document.querySelector('.details')
  showDetails(details, at, more_)
  details.classList.add('open')
  rememberPlace()
}

function markChosen(view) {
  for (const launch of view.querySelectorAll('.launch')) {
    const isIt = looked.launch !== null && launch.dataset.at === looked.launch.join('.')
    launch.classList.toggle('chosen', isIt)
    launch.setAttribute('aria-pressed', String(isIt))
  }
}
