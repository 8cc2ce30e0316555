import { reasonOf } from '../../../core/result'
import { finalizeStatements } from '../../stores/libsql/driver/file/finalize-statements'
import { IndexReader } from './index-reader'
import type { FromWorker, IndexQuestion, ToWorker } from './query/question'

/** A search thread of the index. It gets the next question after it has answered the previous one. */
declare const self: Worker

let reader: IndexReader | null = null

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if ('open' in data) {
    reader = new IndexReader(data.open)
    tell({ opened: true })
  } else if ('close' in data) {
    reader?.close()
    reader = null
    void finalizeStatements().then(() => tell({ closed: true }))
  } else {
    void answer(data.question)
  }
}

async function answer(question: IndexQuestion): Promise<void> {
  try {
    if (!reader) throw new Error('the index is closed')
    const answered = await reader.answer(question)
    if (!answered.ok) tell({ goggles: answered.error })
    else tell(answered.value === null ? { unbuilt: true } : { body: answered.value })
  } catch (problem) {
    tell({ problem: reasonOf(problem) })
  }
}

function tell(message: FromWorker): void {
  self.postMessage(message)
}
