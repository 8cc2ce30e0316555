import { RuleBooks } from '../goggles/rule-books'
import { countTokens } from '../passages/token-count'
import { contextAnswer } from './context-answer'
import type { FromPageThread, ToPageThread } from './page-wire'
import { readPage } from './read-page'

/** The thread that reads pages of strangers: what hangs it is ended with it, and nothing else stops. */
declare const self: Worker

const books = new RuleBooks()

self.onmessage = ({ data: { id, task } }: MessageEvent<ToPageThread>) => {
  try {
    if ('read' in task) return tell({ id, page: readPage(task.read) })
    const answer = contextAnswer(task.answer, books)
    tell(answer.ok ? { id, body: answer.value } : { id, goggles: answer.error })
  } catch (problem) {
    tell({ id, problem: problem instanceof Error ? problem.message : String(problem) })
  }
}

// The vocabulary is loaded before the first page's time is taken.
countTokens('ready')
tell({ ready: true })

function tell(message: FromPageThread): void {
  self.postMessage(message)
}
