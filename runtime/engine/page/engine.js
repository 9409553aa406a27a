// The data of the page: the engine's table, the compiler's listing of kernels, and predicted or measured figures.

function parsed(id) {
  try { return JSON.parse(byId(id).textContent || 'null') } catch { return null }
}

const engine = parsed('engine')
const listing = parsed('listing') ?? { programs: [] }
const more = parsed('more') ?? { loads: [], programs: [], measured: null }

/** The current selection. `cases`: the case that the user chose for a section; the others follow from the load. */
const looked = { view: 'model', program: 0, target: 0, load: 0, cases: {}, launch: null }

const program = () => engine.programs[looked.program]
const programText = () => listing.programs[looked.program] ?? { kernels: [], launches: [], ops: [] }
const figures = () => more.programs[looked.program] ?? { chosen: [], targets: [] }
const targetFigures = () => figures().targets[looked.target] ?? null
const entry = () => program().entries[0]
const kernelNumber = name => program().kernels.findIndex(kernel => kernel.name === name)
const LOADS = {
  decode: load => [`1 token`, `a step that decodes: one sequence, one token, ${load.positions} positions`],
  prompt: load => [`prompt of ${load.tokens}`, `one sequence reads ${load.tokens} tokens in one step`],
  batch: load => [`${load.sequences} sequences`, `${load.sequences} sequences decode together, ${load.positions} positions each`],
}
const loadText = (load = more.loads[looked.load]) => load ? (LOADS[load.name]?.(load) ?? [load.name, '']) : ['', '']

/** "mode Greedy, at most 8 tokens". */
const UNITS = { Tokens: 'tokens', Rows: 'logits rows', TileTokens: 'tokens of an attention tile' }
const whenText = one => one.when.map(c => c.quantity === 'Mode' ? `mode ${c.is}` : `at most ${grouped(c.most)} ${UNITS[c.quantity] ?? c.quantity}`).join(', ')

/** The sections with their steps, in the order in which the entry first runs each. */
function sectionsInOrder() {
  const seen = new Map()
  for (const step of entry().steps) {
    if (!seen.has(step.section)) seen.set(step.section, [])
    seen.get(step.section).push(step)
  }
  return [...seen].map(([number, steps]) => ({ number, steps, section: program().sections[number] }))
}

const caseOf = number => looked.cases[`${looked.program}.${number}`] ?? figures().chosen[looked.load]?.[number] ?? program().sections[number].cases.length - 1

/** Figures of a launch: bytes in all, bytes of weights, of KV and of rows, operations, and µs. */
function workOf(section, number, launch, load = looked.load) {
  const [bytes = 0, weights = 0, kv = 0, operations = 0, us = 0] = targetFigures()?.work[section]?.[number]?.[launch]?.[load] ?? []
  return { bytes, weights, kv, operations, us, rows: Math.max(0, bytes - weights - kv) }
}

const sumOf = list => list.reduce((sum, one) => ({ bytes: sum.bytes + one.bytes, operations: sum.operations + one.operations, us: sum.us + one.us }), { bytes: 0, operations: 0, us: 0 })

/** Figures of a whole step: all launches of all layers. */
function stepWork(load = looked.load) {
  let launches = 0
  const all = sectionsInOrder().flatMap(({ number, steps, section }) => {
    const chosen = load === looked.load ? caseOf(number) : figures().chosen[load]?.[number] ?? 0
    const work = section.cases[chosen].launches.map((_, i) => workOf(number, chosen, i, load))
    launches += work.length * steps.length
    const sum = sumOf(work)
    return { bytes: sum.bytes * steps.length, operations: sum.operations * steps.length, us: sum.us * steps.length }
  })
  return { launches, ...sumOf(all) }
}

/** The operands of a launch: {kind, name, index, effect: '' (unknown), 'r', 'w', 'rw'; weight or state}, of the first step. */
function operandsOf(sectionNumber, caseNumber, launchNumber) {
  const of = program(), launch = of.sections[sectionNumber].cases[caseNumber].launches[launchNumber]
  const step = entry().steps.find(one => one.section === sectionNumber)
  const effects = programText().kernels[kernelNumber(launch.kernel)]?.effects ?? []
  return launch.args.map(([kind, index], i) => {
    const effect = effects[i] ?? ''
    if (kind === 'Buffer') return { kind, index, effect, name: of.buffers[index].name, buffer: of.buffers[index] }
    if (kind === 'State') {
      const state = of.states[step?.states[index]]
      return { kind, index, effect, name: state?.name ?? `state ${index}`, state }
    }
    const weight = of.weights[kind === 'Weight' ? index : step?.weights[index]]
    return { kind, index, effect, name: weight?.name ?? `weight ${index}`, weight, ofLayer: kind === 'LayerWeight' }
  })
}

/** The lm ops that a launch implements; null if they are not known. */
function opsOf(section, number, launch) {
  const which = programText().launches[section]?.[number]?.[launch] ?? -1
  return which < 0 ? null : programText().ops[which] ?? null
}

/** Colours by kernel family, equal in all views. */
const families = [...new Set(engine.programs.flatMap(one => one.kernels.map(kernel => kernel.family)))]
const familyColour = family => `var(--c${Math.max(0, families.indexOf(family)) % 8})`
const familyOf = name => program().kernels[kernelNumber(name)]?.family ?? ''

/** Rows of `inspect --roofline`, if they were measured with the code that is shown. */
const measuredRows = () => program().targets[looked.target]?.target === more.measured_target ? more.measured ?? [] : []
const measuredOf = kernel => measuredRows().find(row => row.kernel === kernel)
const measuredUs = (row, launches) => {
  const us = { decode: row?.decode_us, prompt: row?.prompt512_us }[more.loads[looked.load]?.name]
  return us ? us / (launches || 1) : 0
}

/** A buffer's colour, in all sections and in the arena. */
const bufferColour = index => `var(--c${index % 8})`
