// The frame: tabs, choice of program and target, the theme, and the current view in the URL's fragment.

const VIEWS = [['model', 'Model', modelView], ['arena', 'Memory', arenaView], ['roofline', 'Roofline', rooflineView], ['weights', 'Weights', weightsView], ['evidence', 'Evidence', evidenceView]]

function render() {
  byId('tip').hidden = true
  byId('tabs').replaceChildren(...VIEWS.map(([name, title]) => el('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-selected': String(looked.view === name), onclick: () => show(name) }, title)))
  byId('choices').replaceChildren(...choices())
  byId('view').replaceChildren(VIEWS.find(([name]) => name === looked.view)[2]())
  rememberPlace()
}

function show(view) {
  looked.view = view
  render()
}

/** Lists to choose a program and a target from, if there are several. */
function choices() {
  const chosen = (label, id, options, value, choose_) => el('label', {}, label, el('select', { id, onchange: event => choose_(Number(event.target.value)) },
    options.map((text, i) => el('option', { value: i, selected: i === value }, text))))
  const all = []
  if (engine.programs.length > 1)
    all.push(chosen('program', 'program', engine.programs.map(one => one.device === 'cuda' ? 'for GPUs' : 'for CPUs'), looked.program, value => {
      Object.assign(looked, { program: value, target: bestTarget(value), launch: null })
      render()
    }))
  const targets = program().targets.map(target => target.target)
  if (targets.length > 1) all.push(chosen('code', 'target', targets, looked.target, value => { looked.target = value; render() }))
  else all.push(el('span', { class: 'soft small' }, targets[0] ?? ''))
  return all
}

/** The best target whose limits are known on this machine; otherwise the last. */
function bestTarget(number) {
  const targets = more.programs[number]?.targets ?? []
  const known = targets.findLastIndex(target => target.limits)
  return Math.max(0, known >= 0 ? known : targets.length - 1)
}

function rememberPlace() {
  const place = looked.view === 'model' && looked.launch ? `#model/${looked.program}.${looked.launch.join('.')}` : `#${looked.view}/${looked.program}`
  try { history.replaceState(null, '', place) } catch { /* some browsers forbid this for local files */ }
}

/** Restores the view from the URL's fragment, and ignores parts of it that name nothing in this engine. */
function takePlace() {
  const [view, at = ''] = location.hash.slice(1).split('/'), [number, ...launch] = at.split('.').map(Number)
  if (VIEWS.some(([name]) => name === view)) looked.view = view
  if (engine.programs[number]) looked.program = number
  looked.target = bestTarget(looked.program)
  const [section, one, which] = launch
  if (program().sections[section]?.cases[one]?.launches[which]) {
    looked.launch = launch
    looked.cases[`${looked.program}.${section}`] = one
  }
}

function startTheme() {
  const button = byId('theme'), names = ['system', 'light', 'dark']
  let theme = 'system'
  try { theme = localStorage.getItem('ingot-theme') ?? 'system' } catch { /* local files may have no storage */ }
  const take = () => {
    if (theme === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
    button.textContent = { system: '◐', light: '☀', dark: '☾' }[theme] ?? '◐'
    button.setAttribute('aria-label', `theme: ${theme}`)
  }
  button.addEventListener('click', () => {
    theme = names[(names.indexOf(theme) + 1) % 3]
    try { localStorage.setItem('ingot-theme', theme) } catch { /* as above */ }
    take()
  })
  take()
}

function start() {
  const { model } = engine
  byId('name').textContent = model.name || 'engine'
  byId('about').textContent = `${model.family}, ${countText(model.parameters)} parameters, ${model.layers} layers of width ${model.hidden}, context ${grouped(model.context)}; ${bytesText(engine.file_bytes)}, ${engine.precision}, by ingot ${engine.compiler_version}`
  startTheme()
  startSearch()
  takePlace()
  render()
}

start()
