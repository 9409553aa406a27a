// A failure as text for the user, with the action that may help.

export type WayOut = 'retry' | 'key' | 'settings' | 'shorten' | 'none'

export class Failure extends Error {
  constructor(
    readonly what: string,
    readonly why: string,
    readonly way: WayOut,
  ) {
    super(what)
  }
}

// Codes of docs/errors.md that the page explains in its own words.
export const BEYOND_CONTEXT = 'E0505'
const NO_TEMPLATE = 'E0521'

type ErrorBody = { error?: { message?: string; param?: string | null; code?: string | null } }

/** Makes a message a sentence. Messages of the API begin in lower case and end without a full stop. */
function asSentence(message: string): string {
  const text = message.trim()
  return text && text[0].toUpperCase() + text.slice(1) + (/[.!?…:]$/.test(text) ? '' : '.')
}

/** Returns the failure for a response whose status is not 200, or for an error inside a stream (status 0). */
export function failureOf(status: number, body: unknown, retryAfter: string | null = null): Failure {
  const error = (body as ErrorBody | null)?.error ?? {}
  const message = typeof error.message === 'string' ? asSentence(error.message) : ''
  const code = error.code ?? ''
  if (status === 401) return new Failure('The server wants an API key.', message, 'key')
  if (code === 'context_length_exceeded')
    return new Failure('This conversation is longer than the model can take in.', message, 'shorten')
  if (code === NO_TEMPLATE)
    return new Failure('This model has no chat template.', 'It completes texts. To talk to it, start the server with `--chat-template FILE`.', 'none')
  if (status === 404) return new Failure('The server does not have this model.', message, 'settings')
  if (status === 413) return new Failure('This conversation is too large to send.', message, 'shorten')
  if (status === 429)
    return new Failure('The server is busy.', `Try again in ${retryAfter ?? 'a few'} s. ${message}`, 'retry')
  if (status === 503) return new Failure('The server does not take requests now.', message, 'retry')
  if (status === 400) return new Failure('The server refused the request.', message, 'settings')
  return new Failure(status ? `The server answered ${status}.` : 'The server could not finish the answer.', message, 'retry')
}

export function failureOfNetwork(begun: boolean): Failure {
  return begun
    ? new Failure('The connection broke off in the middle of the answer.', 'What had come is kept.', 'retry')
    : new Failure('The server cannot be reached.', 'Is `ingot serve` still running?', 'retry')
}

export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  return new Failure('The page has made a mistake.', String(error), 'none')
}
