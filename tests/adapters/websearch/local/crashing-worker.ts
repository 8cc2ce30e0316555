import type { ToWorker } from '../../../../server/adapters/websearch/local/query/question'

/** Stands in for the search thread: it answers with how many it has answered, keeps silent at "wait", dies at "die". */
declare const self: Worker
let answered = 0

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if ('open' in data) self.postMessage({ opened: true })
  if ('close' in data) self.postMessage({ closed: true })
  if (!('question' in data) || data.question.kind !== 'images') return
  if (data.question.input.q === 'die') process.exit(1)
  if (data.question.input.q === 'throw') throw new Error('thrown in the thread')
  if (data.question.input.q !== 'wait') self.postMessage({ body: String(++answered) })
}
