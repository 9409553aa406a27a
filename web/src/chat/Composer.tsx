import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon } from '../look/Icon'
import { readAttachment, type Attachment } from './attachment'
import { chat } from './chat'
import { TokenCount } from './TokenCount'

export function Composer() {
  const [text, setText] = useState('')
  const [files, setFiles] = useState<Attachment[]>([])
  const area = useRef<HTMLTextAreaElement>(null)
  const chooser = useRef<HTMLInputElement>(null)
  // Make the field as high as its text, up to the style sheet's limit. Its height includes the borders, but
  // scrollHeight does not.
  const fit = () => {
    const box = area.current!
    box.style.height = 'auto'
    box.style.height = `${box.scrollHeight + box.offsetHeight - box.clientHeight}px`
  }
  useEffect(fit, [text])
  useEffect(() => {
    addEventListener('resize', fit)
    return () => removeEventListener('resize', fit)
  }, [])
  // Do not set the focus on touch screens, where it would open a keyboard over half the screen.
  useEffect(() => {
    if (matchMedia('(hover: hover)').matches) area.current?.focus()
  }, [])

  const answering = chat.answering
  const empty = !text.trim() && !files.length
  const send = () => {
    if (empty) return
    chat.send(text, files)
    if (answering) return // send() has shown the reason
    setText('')
    setFiles([])
  }
  const attach = async (list: FileList | null | undefined) => {
    for (const file of list ?? []) {
      try {
        const read = await readAttachment(file)
        setFiles(old => [...old, read])
      } catch (error) {
        chat.say((error as Error).message)
      }
    }
    area.current?.focus()
  }
  const onKey = (event: KeyboardEvent) => {
    // While an input method composes a word (Japanese, Chinese …), Enter belongs to the input method.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    send()
  }
  const onPaste = (event: ClipboardEvent) => {
    if (!event.clipboardData?.files.length) return
    event.preventDefault()
    void attach(event.clipboardData.files)
  }
  const onDrop = (event: DragEvent) => {
    if (!event.dataTransfer?.files.length) return
    event.preventDefault()
    void attach(event.dataTransfer.files)
  }
  return (
    <form class="composer" onSubmit={event => { event.preventDefault(); send() }} onDragOver={event => event.preventDefault()} onDrop={onDrop}>
      {files.length > 0 && (
        <ul class="files" aria-label="Files that go with the message">
          {files.map((file, i) => (
            <li>
              <Icon name="file" /> <span>{file.name}</span>
              <button type="button" class="icon small" aria-label={`Take away ${file.name}`} onClick={() => setFiles(files.filter((_, at) => at !== i))}>
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="field">
        <label class="away" for="question">Your message</label>
        <textarea id="question" ref={area} rows={1} value={text} placeholder="Ask something" enterkeyhint="send"
          onInput={event => setText(event.currentTarget.value)} onKeyDown={onKey} onPaste={onPaste} />
        <button type="button" class="icon" id="attach" aria-label="Attach text files" title="Attach text files" onClick={() => chooser.current?.click()}><Icon name="clip" /></button>
        <input type="file" id="attachments" hidden multiple ref={chooser}
          onChange={event => { void attach(event.currentTarget.files); event.currentTarget.value = '' }} />
        {answering
          ? <button type="button" class="icon main" id="stop" aria-label="Stop the answer" title="Stop (Esc)" onClick={() => chat.stop()}><Icon name="stop" /></button>
          : <button type="submit" class="icon main" id="send" aria-label="Send" title="Send (Enter)" disabled={empty}><Icon name="send" /></button>}
      </div>
      <p class="below">
        <span class="keys">{answering ? 'Esc stops the answer' : 'Enter sends, Shift+Enter breaks the line'}</span>
        <TokenCount text={text} files={files} />
      </p>
    </form>
  )
}
