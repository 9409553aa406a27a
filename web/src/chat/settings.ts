// The settings that are sent in addition to the messages. An empty number means the model's own default.

export type Settings = {
  model: string // empty: the server's first
  system: string
  numbers: Record<NumberName, number | null>
  tools: string // JSON, as OpenAI's "tools"; empty: none
}

export type NumberName = 'temperature' | 'top_p' | 'top_k' | 'min_p' | 'seed' | 'max_tokens'

/** The number fields. Their names are those of the API. */
export const NUMBERS: { name: NumberName; label: string; least: number; most: number; step: number; hint: string }[] = [
  { name: 'temperature', label: 'Temperature', least: 0, most: 2, step: 0.05, hint: '0: always the likeliest token' },
  { name: 'top_p', label: 'Top p', least: 0, most: 1, step: 0.01, hint: 'the likeliest tokens that make up this share' },
  { name: 'top_k', label: 'Top k', least: 0, most: 1000000, step: 1, hint: 'that many of the likeliest; 0: all' },
  { name: 'min_p', label: 'Min p', least: 0, most: 1, step: 0.01, hint: 'at least this share of the likeliest' },
  { name: 'seed', label: 'Seed', least: 0, most: Number.MAX_SAFE_INTEGER, step: 1, hint: 'the same seed gives the same answer' },
  { name: 'max_tokens', label: 'Most new tokens', least: 1, most: 1 << 30, step: 1, hint: 'empty: as many as the context has room for' },
]

export function readSettings(value: unknown): Settings {
  const from = (typeof value === 'object' && value ? value : {}) as Record<string, unknown>
  const text = (name: string) => (typeof from[name] === 'string' ? (from[name] as string) : '')
  const given = (typeof from.numbers === 'object' && from.numbers ? from.numbers : {}) as Record<string, unknown>
  const numbers = {} as Settings['numbers']
  for (const { name, least, most } of NUMBERS) {
    const number = given[name]
    numbers[name] = typeof number === 'number' && number >= least && number <= most ? number : null
  }
  return { model: text('model'), system: text('system'), numbers, tools: text('tools') }
}

/** Returns the reason why the text is not a list of tools; '' if it is one. */
export function whyNoTools(text: string): string {
  if (!text.trim()) return ''
  try {
    return Array.isArray(JSON.parse(text)) ? '' : 'Tools are a list: [{"type": "function", …}]'
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`
  }
}
