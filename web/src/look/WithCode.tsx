/** A sentence of the server, in which text in backquotes is code. */
export function WithCode({ text }: { text: string }) {
  const parts = text.split(/`([^`\n]+)`/)
  return <>{parts.map((part, i) => (i % 2 ? <code>{part}</code> : part))}</>
}
