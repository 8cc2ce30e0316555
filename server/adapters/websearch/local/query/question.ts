import type { ContextQuestion } from './context-answer'
import type { ImageQuestion } from './image-answer'

/** What is asked of the index. The answer is text: a response body, or nothing for `ready`. */
export type Question =
  | { readonly kind: 'images'; readonly input: ImageQuestion; readonly baseUrl: string }
  | { readonly kind: 'context'; readonly input: ContextQuestion; readonly baseUrl: string; readonly nowMs: number }
  | { readonly kind: 'ready' }

/** What the serving thread sends to the worker: the file first and once, then one question at a time. */
export type ToWorker = { readonly open: string } | { readonly question: Question } | { readonly close: true }

/** What comes back: one message for each of those. */
export type FromWorker =
  | { readonly opened: true }
  | { readonly body: string }
  | { readonly problem: string }
  /** There is more to build of the question's goggles: it must be asked again. */
  | { readonly unbuilt: true }
  /** The rule that the question's goggles break. */
  | { readonly goggles: string }
  | { readonly closed: true }
