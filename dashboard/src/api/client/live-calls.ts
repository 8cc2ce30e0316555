import type { RequestRecord } from '../../../../server/http/usage/record.ts'

type Listener = (call: RequestRecord) => void

const listeners = new Set<Listener>()

/** Hands on each call that the live events report, until the returned function is called. */
export function onLiveCall(listener: Listener): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** `data`: of a `call` event. Not parsed without a watcher: there may be a thousand a second. */
export function announceCall(data: string): void {
  if (listeners.size === 0) return
  const call: RequestRecord = JSON.parse(data)
  for (const listener of listeners) listener(call)
}
