// Screen readers read an answer sentence by sentence while it grows, each sentence once. An incomplete sentence is
// held back, since it would be read twice. Code is mentioned but not read aloud.

const FENCE = /^ {0,3}(```+|~~~+)[ \t]*([^\n`]*)\n([\s\S]*?)(?:^ {0,3}\1[ \t]*$|(?![\s\S]))/gm

/** Returns the complete sentences of `text`. `whole`: no more text follows. */
export function sentences(text: string, whole: boolean): string[] {
  let open = false
  const named = text.replace(FENCE, (all, mark: string, language: string) => {
    if (!whole && !all.trimEnd().endsWith(mark)) open = true
    return open ? '\0' : `\nCode${language.trim() ? ` in ${language.trim()}` : ''}.\n`
  })
  const sayable = open ? named.slice(0, named.indexOf('\0')) : named
  const pieces = sayable.split(/(?<=[.!?…:;]["'’)\]*_]{0,3})\s+|\n+/)
  // The last piece is incomplete. After a line break or a fence it is empty.
  if (!whole && !open) pieces.pop()
  return pieces.map(unmarked).filter(Boolean)
}

/** Returns the text without Markdown's marks. */
function unmarked(piece: string): string {
  return piece
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+)/, '')
    .replace(/[*`|]+|(?<=\W|^)_+|_+(?=\W|$)/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/^[-: ]+$/, '')
    .trim()
}
