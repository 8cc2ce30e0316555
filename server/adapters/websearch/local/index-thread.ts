import type { ProviderAnswer, UpstreamFailure } from '../../../core/providers/provider'
import { err, ok, type Result } from '../../../core/result'
import { brokenGoggle } from '../goggles/broken-goggle'
import { RULES_NOT_BUILT } from '../goggles/build-allowance'
import type { FromWorker, IndexQuestion, ToWorker } from './query/question'

export type IndexAnswer = Result<ProviderAnswer, UpstreamFailure>

/** A thread that answers one search at a time. */
export interface IndexThread {
  /** Sends a question. Only when the thread is ready and has answered the previous one. */
  ask(question: IndexQuestion): void
  /** Ends the thread after its current question. */
  close(): Promise<void>
}

export interface ThreadEvents {
  /** The thread has opened the index and accepts questions. */
  opened(): void
  /** The answer to the last question. */
  answered(answer: IndexAnswer): void
  /** The thread died without being closed. Its question has no answer. */
  lost(reason: string): void
}

export type StartThread = (events: ThreadEvents) => IndexThread

/** Starts a thread that searches an index file. */
export function startIndexThread(script: URL, indexPath: string, events: ThreadEvents): IndexThread {
  const worker = new Worker(script)
  const send = (message: ToWorker): void => worker.postMessage(message)
  const closed = Promise.withResolvers<void>()
  let isEnding = false
  const lost = (reason: string): void => {
    closed.resolve()
    if (isEnding) return
    isEnding = true
    worker.terminate()
    events.lost(reason)
  }
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if ('opened' in data) events.opened()
    else if ('closed' in data) closed.resolve()
    else events.answered(answerOf(data))
  }
  worker.onerror = (event) => {
    event.preventDefault()
    lost(event.message)
  }
  worker.addEventListener('close', () => lost('the thread ended'))
  send({ open: indexPath })
  return {
    ask: (question) => send({ question }),
    async close() {
      isEnding = true
      send({ close: true })
      await closed.promise
      worker.terminate()
    },
  }
}

function answerOf(message: Exclude<FromWorker, { opened: true } | { closed: true }>): IndexAnswer {
  if ('unbuilt' in message) return RULES_NOT_BUILT
  if ('body' in message) return ok({ body: message.body })
  if ('goggles' in message) return err(brokenGoggle(message.goggles))
  return err({ kind: 'unavailable', reason: `local index: ${message.problem}` })
}
