/** Copies text. Returns false if the browser does not allow it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    // The clipboard is only available on https and localhost.
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.className = 'away'
    document.body.append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    return done
  }
}
