import type { RuleSet } from '../../../core/goggles/rule-set'
import { ok, type Result, reasonOf } from '../../../core/result'
import { RuleBooks } from '../goggles/rule-books'
import { countTokens } from '../passages/token-count'
import { contextFromPages } from './context-answer'
import type { FromPageThread, OrderTask, ToPageThread } from './page-wire'
import { readPage } from './read-page'

/** The thread that reads untrusted pages. If a page hangs it, the thread is killed and nothing else stops. */
declare const self: Worker

const books = new RuleBooks()

self.onmessage = ({ data: { id, task } }: MessageEvent<ToPageThread>) => {
  try {
    if ('read' in task) return tell({ id, page: readPage(task.read) })
    const { goggles } = 'order' in task ? task.order : task.answer
    const rules = books.of(goggles)
    if (!rules.ok) return tell({ id, goggles: rules.error })
    if (rules.value === null) return tell({ id, unbuilt: true })
    if ('order' in task) {
      const order = newOrder(task.order, rules.value)
      return tell(order.ok ? { id, order: order.value } : { id, goggles: order.error })
    }
    const answer = contextFromPages(task.answer, rules.value)
    tell(answer.ok ? { id, body: answer.value } : { id, goggles: answer.error })
  } catch (problem) {
    tell({ id, problem: reasonOf(problem) })
  }
}

/** As it was, where goggles want to see the pages first. */
function newOrder({ subjects }: OrderTask, rules: RuleSet): Result<readonly number[], string> {
  const indexed = subjects.map((subject, index) => ({ ...subject, index }))
  const ordered = rules.looksAtContent ? ok(indexed) : rules.rerank(indexed, (subject) => subject)
  return ordered.ok ? ok(ordered.value.map(({ index }) => index)) : ordered
}

// Load the vocabulary before the first page is timed.
countTokens('ready')
tell({ ready: true })

function tell(message: FromPageThread): void {
  self.postMessage(message)
}
