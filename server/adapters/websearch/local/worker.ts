import { setImmediate } from 'node:timers/promises'
import { IndexReader } from './index-reader'
import type { FromWorker, Question, ToWorker } from './question'

/** The thread of the index's searches. It takes one question at a time, and looks for cancellations before each. */
declare const self: Worker

const waiting = new Map<number, Question>()
let reader: IndexReader | null = null
let isAnswering = false

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if ('open' in data) {
    reader = new IndexReader(data.open)
  } else if ('cancel' in data) {
    waiting.delete(data.cancel)
  } else if ('close' in data) {
    waiting.clear()
    reader?.close()
    reader = null
    tell({ closed: true })
  } else {
    waiting.set(data.id, data.question)
    if (!isAnswering) void answerAll()
  }
}

async function answerAll(): Promise<void> {
  isAnswering = true
  for (;;) {
    await setImmediate() // lets a cancellation that has arrived take its question out
    const next = waiting.entries().next().value
    if (!next) break
    waiting.delete(next[0])
    await answer(next[0], next[1])
  }
  isAnswering = false
}

async function answer(id: number, question: Question): Promise<void> {
  try {
    if (!reader) throw new Error('the index is closed')
    const answered = await reader.answer(question)
    tell(answered.ok ? { id, body: answered.value } : { id, goggles: answered.error })
  } catch (problem) {
    tell({ id, problem: problem instanceof Error ? problem.message : String(problem) })
  }
}

function tell(message: FromWorker): void {
  self.postMessage(message)
}
