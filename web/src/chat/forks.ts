// Several versions of what follows at one place of a conversation: another answer, or a question that was asked in other
// words. One is shown and sent, which is the conversation's `messages`; the others wait in its forks. A fork is found by the
// message before it, so that those inside a version that waits are there again when it is shown.
//
//   messages   q1 a1 q2 a2'      forks   after q2: [a2, ·]     ·: the chosen one
import type { Conversation, Fork, Message } from './conversation'

function forkAt(conversation: Conversation, index: number): Fork | undefined {
  const after = conversation.messages[index - 1]?.id ?? ''
  return conversation.forks?.find(fork => fork.after === after)
}

/** Which version of how many stands at this message; null: there is one. */
export function versionAt(conversation: Conversation, index: number): { number: number; of: number } | null {
  const fork = forkAt(conversation, index)
  return fork ? { number: fork.chosen + 1, of: fork.tails.length } : null
}

/** What stands from this message on waits from now on; a new version begins there, with nothing in it. */
export function branch(conversation: Conversation, index: number): void {
  let fork = forkAt(conversation, index)
  if (!fork) {
    fork = { after: conversation.messages[index - 1]?.id ?? '', chosen: 0, tails: [[]] }
    conversation.forks = [...(conversation.forks ?? []), fork]
  }
  fork.tails[fork.chosen] = conversation.messages.slice(index)
  fork.chosen = fork.tails.push([]) - 1
  conversation.messages = conversation.messages.slice(0, index)
  conversation.from = Math.min(conversation.from, index)
}

/** Shows another version; `step`: 1 the next, -1 the one before. */
export function turn(conversation: Conversation, index: number, step: number): void {
  const fork = forkAt(conversation, index)
  const chosen = (fork?.chosen ?? 0) + step
  if (!fork || !fork.tails[chosen]) return
  fork.tails[fork.chosen] = conversation.messages.slice(index)
  const tail: Message[] = fork.tails[chosen]
  fork.tails[chosen] = []
  fork.chosen = chosen
  conversation.messages = [...conversation.messages.slice(0, index), ...tail]
  conversation.from = Math.min(conversation.from, index)
}

/** A version that has nothing in it is none: the one before it is back. */
export function dropEmpty(conversation: Conversation): void {
  const index = conversation.messages.length
  const fork = forkAt(conversation, index)
  if (!fork) return
  const before = Math.max(0, fork.chosen - 1)
  fork.tails.splice(fork.chosen, 1)
  conversation.messages = [...conversation.messages, ...fork.tails[before]]
  fork.tails[before] = []
  fork.chosen = before
  if (fork.tails.length < 2) conversation.forks = conversation.forks?.filter(one => one !== fork)
}
