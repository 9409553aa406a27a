// Creates elements, formats numbers, and shows the tooltip.

const byId = id => document.getElementById(id)

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else if (name === 'style') Object.entries(value).forEach(([key, one]) => element.style.setProperty(key, one))
    else element.setAttribute(name, value === true ? '' : value)
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false))
  return element
}

/** el('div', {class: 'a', onclick: f}, 'text', other) */
const el = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children)
const svgEl = (tag, attributes, ...children) => filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children)

const grouped = n => Math.round(n).toLocaleString('en-US')

function bytesText(n) {
  if (n < 1024) return `${Math.round(n)} B`
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  let i = -1
  do { n /= 1024; ++i } while (n >= 1023.95 && i < units.length - 1)
  return `${n.toFixed(1)} ${units[i]}`
}

function countText(n) {
  for (const [size, unit] of [[1e12, ' T'], [1e9, ' G'], [1e6, ' M'], [1e3, ' k']])
    if (n >= size) return (n / size).toPrecision(3) + unit
  return String(Math.round(n))
}

function timeText(us) {
  if (!us) return '–'
  if (us >= 1e6) return `${(us / 1e6).toPrecision(3)} s`
  if (us >= 1e3) return `${(us / 1e3).toPrecision(3)} ms`
  return `${us >= 100 ? us.toFixed(0) : us.toPrecision(us < 1 ? 2 : 3)} µs`
}

const percent = part => part >= .0995 ? `${Math.round(part * 100)} %` : part > 0 ? `${(part * 100).toFixed(1)} %` : '0 %'

/** Attributes that give an element a tooltip with the text of `says()`. */
function tips(says) {
  const tip = byId('tip')
  const place = event => {
    tip.textContent = says()
    tip.hidden = false
    const { width, height } = tip.getBoundingClientRect()
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`
    tip.style.top = `${event.clientY + height + 24 > innerHeight ? Math.max(4, event.clientY - height - 10) : event.clientY + 16}px`
  }
  return { onmousemove: place, onmouseenter: place, onmouseleave: () => { tip.hidden = true } }
}

/** A group of buttons, one of which is pressed. */
const choice = (label, options, chosen, choose) => el('div', { class: 'group', role: 'group', 'aria-label': label },
  options.map(([value, text, title]) => el('button', { type: 'button', 'aria-pressed': String(value === chosen), title, onclick: () => choose(value) }, text)))

/** Attributes that make an element act as a button, for the mouse and for Enter and Space. */
const pressable = act => ({ tabindex: 0, role: 'button', onclick: act, onkeydown: event => {
  if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); act(event) } } })
