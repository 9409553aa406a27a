import { chat } from './chat'

const EXAMPLES = [
  'What does a compiler do? Answer in two sentences.',
  'Write a Python function that counts the words of a text.',
  'Explain to a child why it rains.',
  'List three ways to make a meeting shorter.',
]

export function Welcome() {
  const model = chat.model()
  return (
    <div class="welcome">
      <h2>Ask something.</h2>
      <p>
        {model?.max_model_len ? `The model takes in ${model.max_model_len.toLocaleString()} tokens. ` : ''}
        Conversations stay in this browser.
      </p>
      <ul class="examples" aria-label="Examples">
        {EXAMPLES.map(example => <li><button type="button" onClick={() => chat.send(example)}>{example}</button></li>)}
      </ul>
    </div>
  )
}
