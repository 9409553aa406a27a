// A fork has several versions of how a conversation continues at one place: with another answer, or with a question in
// other words. One version is in the conversation's `messages`, and is shown and sent. The others are stored in the
// forks. A fork is identified by the message before it, so forks inside a stored version reappear when it is shown.
//
//   messages   q1 a1 q2 a2'      forks   after q2: [a2, ·]     ·: the chosen one
import type { Conversation, Fork, Message } from './conversation'

function forkAt(conversation: Conversation, index: number): Fork | undefined {
  const after = conversation.messages[index - 1]?.id ?? ''
  return conversation.forks?.find(fork => fork.after === after)
}

/** Returns the number of the version shown at this message, and the number of versions; null if there is only one. */
export function versionAt(conversation: Conversation, index: number): { number: number; of: number } | null {
  const fork = forkAt(conversation, index)
  return fork ? { number: fork.chosen + 1, of: fork.tails.length } : null
}

/** Stores this message and all after it as a version, and begins a new, empty version in their place. */
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

/** Shows another version. `step`: 1 for the next, -1 for the previous one. */
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

/** Removes a version that is still empty, and shows the one before it. */
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
