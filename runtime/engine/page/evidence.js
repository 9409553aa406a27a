// The origin of the engine, and the checks of its compiler.

function evidenceView() {
  const number = value => value === 0 ? '0' : value < .001 || value >= 1e4 ? value.toExponential(2) : value.toPrecision(3)
  const recipe = engine.provenance.recipe
  return el('div', {},
    el('h2', {}, 'Evidence'),
    el('p', { class: 'soft small' }, 'Each pass over the model was checked against the reference interpreter, the plan against it in the plan interpreter, and CPU code against that, launch by launch. A difference above the tolerance ends the compilation.'),
    engine.evidence.length ? el('div', { class: 'scroll' }, el('table', { id: 'evidence' },
      el('tr', {}, el('th', {}, 'what was checked'), el('th', { class: 'number' }, 'largest difference'), el('th', { class: 'number' }, 'of the largest value'), el('th', {}, 'inputs and tolerance')),
      engine.evidence.map(one => el('tr', {}, el('td', { class: 'mono' }, one.pass), el('td', { class: 'number' }, number(one.max_abs)), el('td', { class: 'number' }, number(one.max_rel)), el('td', { class: 'small' }, one.inputs)))))
      : el('p', {}, 'None was recorded.'),
    el('div', { class: 'two' },
      el('div', {}, el('h2', {}, 'Provenance'), facts(Object.entries(engine.provenance).filter(([key]) => key !== 'recipe')),
        engine.programs.filter(one => Object.keys(one.provenance).length).map(one => [el('h3', {}, `of the program for ${one.device === 'cuda' ? 'GPUs' : 'CPUs'}`), facts(Object.entries(one.provenance))])),
      el('div', {}, el('h2', {}, 'Engine'), facts(engineFacts()),
        el('h3', {}, 'Segments'), el('div', { class: 'scroll' }, el('table', {}, engine.segments.map(one => el('tr', {}, el('td', {}, one.kind), el('td', { class: 'number' }, bytesText(one.size)), el('td', { class: 'mono soft' }, one.hash))))))),
    recipe ? [el('div', { class: 'text-head' }, el('h2', {}, 'Recipe'), copyButton(recipe)), el('p', { class: 'soft small' }, '`ingot compile MODEL --recipe FILE` makes the same engine again.'), codeBlock(recipe.trimEnd())] : null)
}

const facts = pairs => el('dl', {}, pairs.map(([key, value]) => [el('dt', {}, key), el('dd', {}, String(value))]))

function engineFacts() {
  const { model } = engine
  const targets = engine.programs.flatMap(one => one.targets.map(target => `${target.target} (${bytesText(target.code_bytes)})`)).join(', ')
  const states = new Set(engine.programs.flatMap(one => one.states.map(stateText)).map(text => text.split(': ').slice(1).join(': ')))
  return [['family', model.family], ['parameters', grouped(model.parameters)], ['layers', model.layers], ['width', model.hidden], ['vocabulary', grouped(model.vocab)], ['context', grouped(model.context)],
    ['precision', engine.precision], ['format', engine.format], ['compiler', engine.compiler_version], ['file', `${grouped(engine.file_bytes)} bytes`], ['code', targets], ['states', [...states].join('; ') || 'none'],
    ['tokenizer', engine.tokenizer], ['chat template', engine.chat_template ? 'yes' : 'no']]
}
