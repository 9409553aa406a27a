// Text files attached to a message. They are stored separately from its text, so that the page can fold them. The
// model gets them after the text, each under its name.

export type Attachment = { name: string; text: string }

const MOST_BYTES = 1 << 20

/** Reads a file. Throws an Error whose message is for the user. */
export async function readAttachment(file: File): Promise<Attachment> {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} is ${(file.size / (1 << 20)).toFixed(1)} MiB; a file may have at most 1 MiB.`)
  const text = new TextDecoder().decode(await file.arrayBuffer())
  // Reject pictures, archives and documents, whose bytes are not text.
  if (/\0|\ufffd/.test(text)) throw new Error(`${file.name} is not a text file in UTF-8.`)
  return { name: file.name.slice(0, 200) || 'text', text }
}

/** Returns the text that the model gets. The fence around a file is longer than any fence inside it. */
export function withAttachments(content: string, files: Attachment[] | undefined): string {
  return [content, ...(files ?? []).map(({ name, text }) => {
    const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(run => run.length))
    const fence = '`'.repeat(longest + 1)
    return `${name}:\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`
  })].filter(Boolean).join('\n\n')
}
