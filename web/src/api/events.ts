/** Yields the data of each server-sent event. Comments (pings) are skipped. */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let held = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      held += value
      for (let end = held.indexOf('\n\n'); end >= 0; end = held.indexOf('\n\n')) {
        const lines = held.slice(0, end).split('\n').filter(line => line.startsWith('data:'))
        held = held.slice(end + 2)
        if (lines.length) yield lines.map(line => line.slice(line[5] === ' ' ? 6 : 5)).join('\n')
      }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}
