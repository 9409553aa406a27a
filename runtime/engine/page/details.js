// One launch: what it computes, its operands, its time, and its code.

/** `to`: {text: 'ir' | 'code', line} of a search result to scroll to. */
function showDetails(place, at, to) {
  place.replaceChildren()
  if (!at) { place.append(el('p', { class: 'soft' }, 'Choose a launch to see what is in it.')); return }
  const [section, number, launchNumber] = at
  const launch = program().sections[section].cases[number].launches[launchNumber]
  const kernel = program().kernels[kernelNumber(launch.kernel)], text = programText().kernels[kernelNumber(launch.kernel)]
  const ops = opsOf(section, number, launchNumber), schedule = kernel?.schedules.find(one => one.target === targetFigures()?.target)
  filled(place, null, [
    el('button', { class: 'close', type: 'button', onclick: () => place.classList.remove('open') }, 'close'),
    el('h2', { class: 'mono' }, launch.kernel),
    el('p', { class: 'soft small' }, `${kernel?.family ?? 'a kernel'} of @${program().sections[section].name}, ${gridText(kernel)}${otherLaunches(launch.kernel)}`),
    el('div', { class: 'scroll' }, loadTable(at, kernel)),
    schedule && el('p', { class: 'small' }, el('span', { class: 'soft' }, `Schedule of ${schedule.shape}: `), el('code', {}, schedule.schedule), el('span', { class: 'soft' }, ` (${schedule.source})`)),
    el('h3', {}, 'Operands'), el('div', { class: 'scroll' }, operandTable(at)),
    textPart('Region of lm', ops, 'ir', ops === null ? noOps(launch.kernel) : ''),
    textPart('Kernel', text?.ir ?? null, 'ir', 'This engine has no IR: an older version of ingot made it. Compile it again.', to?.text === 'ir' ? to.line : undefined),
    codePart(launch.kernel, to?.text === 'code' ? to.line : undefined),
    kernel?.variants?.length > 0 && variantTable(kernel)])
  place.scrollTop = 0
}

const noOps = kernel => listing.programs.length
  ? 'It computes no part of the model: the plan needs it for rotary tables, layouts or ids.'
  : `This engine keeps none: an older ingot made it. ${kernel}`

const BASES = { Constant: 'launch', Tokens: 'token', Rows: 'logits row', Tiles: 'attention tile', Spans: 'sequence' }
const gridText = kernel => kernel ? `${grouped(kernel.grid.factor)} work item${kernel.grid.factor === 1 ? '' : 's'} per ${BASES[kernel.grid.base] ?? kernel.grid.base}` : ''

function otherLaunches(name) {
  const sections = sectionsInOrder().filter(one => one.section.cases[caseOf(one.number)].launches.some(launch => launch.kernel === name))
  const times = sections.reduce((sum, one) => sum + one.steps.length * one.section.cases[caseOf(one.number)].launches.filter(launch => launch.kernel === name).length, 0)
  return times > 1 ? `; launched ${grouped(times)} times in a step` : ''
}

function loadTable(at, kernel) {
  const totals = more.loads.map((_, i) => stepWork(i))
  const steps = entry().steps.filter(step => step.section === at[0]).length
  const works = more.loads.map((_, i) => workOf(...at, i))
  const limits = targetFigures()?.limits, arithmetic = kernel?.costs.find(one => one.target === targetFigures()?.target)?.arithmetic
  const rate = limits && { Int8: limits.int8, Bf16: limits.bf16, F32: limits.f32 }[arithmetic]
  const row = (name, cell, when = true) => when && el('tr', {}, el('th', {}, name), works.map((work, i) => el('td', { class: 'number' }, cell(work, i))))
  const bound = work => {
    const memory = work.bytes / limits.read / 1e3, compute = rate ? work.operations / rate / 1e3 : 0
    return `${timeText(Math.max(memory, compute))} ${memory >= compute ? 'memory' : arithmetic.toLowerCase()}`
  }
  const measured = measuredOf(kernel?.name)
  return el('table', {},
    el('tr', {}, el('th', {}, 'one launch'), more.loads.map((load, i) => el('th', { class: 'number', title: loadText(load)[1] }, loadText(load)[0]))),
    row('bytes', work => bytesText(work.bytes)),
    row('of weights', work => bytesText(work.weights), works.some(work => work.weights)),
    row('of rows', work => bytesText(work.rows), works.some(work => work.rows)),
    row('of keys and values', work => bytesText(work.kv), works.some(work => work.kv)),
    row('operations', work => countText(work.operations), works.some(work => work.operations)),
    row('time, predicted', work => timeText(work.us)),
    row('at its limit', bound, Boolean(limits)),
    row('share of the step', (work, i) => totals[i].us ? percent(work.us * steps / totals[i].us) : '–'),
    measured && row('time, measured', (_, i) => timeText({ decode: measured.decode_us, prompt: measured.prompt512_us }[more.loads[i].name] / measured.launches)))
}

function operandTable(at) {
  const many = entry().steps.filter(step => step.section === at[0]).length > 1
  const does = { r: 'read', w: 'written', rw: 'read, written', '': '' }
  return el('table', {}, el('tr', {}, ['', 'what', 'memory', ''].map(head => el('th', {}, head))), operandsOf(...at).map((operand, i) => {
    const { kind, name, buffer, weight, state, effect, ofLayer } = operand
    const memory = kind === 'Buffer' ? `${grouped(buffer.bytes_per_unit)} bytes ${UNIT_OF_CLASS[buffer.class]}, at ${grouped(buffer.offset)}`
      : kind === 'State' ? stateText(state).replace(`${name}: `, '') : `${weight?.format ?? ''} ${weight?.shape.join(' × ') ?? ''}, ${bytesText(weight?.size ?? 0)}`
    return el('tr', {}, el('td', { class: 'soft' }, `%arg${i}`),
      el('td', {}, el('span', { class: `chip ${kind === 'Buffer' ? 'buffer' : kind === 'State' ? 'state' : 'weight'}` }, name),
        many && (ofLayer || kind === 'State') ? el('div', { class: 'soft small' }, 'and so on, one per layer') : null),
      el('td', { class: 'small' }, memory), el('td', { class: 'small soft' }, does[effect] ?? effect))
  }))
}

function textPart(title, text, language, without, line) {
  if (text === null || text === undefined) return [el('h3', {}, title), el('p', { class: 'soft small' }, without)]
  return [el('div', { class: 'text-head' }, el('h3', {}, title), copyButton(text)), codeBlock(text.trimEnd(), language, line)]
}

/** Machine code, or CUDA C++ for GPUs; it is decompressed when it is shown. */
function codePart(kernel, line) {
  const part = el('div', {}), targets = figures().targets
  const show = async () => {
    const target = targets[looked.target]
    if (!target) return
    const gpu = isGpu(target.target)
    let codes = null, why = target.no_code
    try { codes = await codeOf(looked.program, looked.target) } catch (error) { why = `this browser cannot unpack it: ${error.message}` }
    const text = codes?.[kernel]
    const head = el('div', { class: 'text-head' }, el('h3', {}, gpu ? 'CUDA C++' : 'Machine code'),
      el('span', { class: 'soft small' }, target.target), text && copyButton(text), text && el('span', { class: 'soft small' }, `${grouped(text.split('\n').length - 1)} lines`))
    part.replaceChildren(head, text ? codeBlock(text.trimEnd(), gpu ? 'cuda' : 'asm', line)
      : el('p', { class: 'soft small' }, why ? `It is not shown: ${why}.` : `There is no code of ${kernel} for ${target.target}.`))
  }
  show()
  return part
}

const extentText = ([base, multiply, divide]) => base === 'Constant' ? grouped(multiply / divide) : `${base.toLowerCase()}${multiply !== 1 ? ` × ${multiply}` : ''}${divide !== 1 ? ` / ${divide}` : ''}`

const variantTable = kernel => [el('h3', {}, 'Variants'), el('div', { class: 'scroll' }, el('table', {},
  el('tr', {}, ['function', 'steps', 'blocks', 'threads', 'shared memory'].map(head => el('th', {}, head))),
  kernel.variants.map(one => el('tr', {}, el('td', { class: 'mono' }, one.symbol),
    el('td', { class: 'small' }, [one.max_tokens && `up to ${one.max_tokens} tokens`, one.max_rows && `up to ${one.max_rows} rows`, one.max_tile_tokens && `tiles up to ${one.max_tile_tokens}`].filter(Boolean).join(', ') || 'any'),
    el('td', { class: 'small' }, `${extentText(one.x)} × ${extentText(one.y)}`), el('td', { class: 'number' }, one.threads), el('td', { class: 'number' }, bytesText(one.shared_bytes))))))]
