import type { ContextQuestion } from './context-answer'
import type { ImageQuestion } from './image-answer'

/** A query to the index. The answer is text: a response body, or empty for `ready`. */
export type IndexQuestion =
  | { readonly kind: 'images'; readonly input: ImageQuestion; readonly baseUrl: string }
  | { readonly kind: 'context'; readonly input: ContextQuestion; readonly baseUrl: string; readonly nowMs: number }
  | { readonly kind: 'ready' }

/** Messages to the worker: first the file, once, then one question at a time. */
export type ToWorker = { readonly open: string } | { readonly question: IndexQuestion } | { readonly close: true }

/** Messages from the worker, one for each message to it. */
export type FromWorker =
  | { readonly opened: true }
  | { readonly body: string }
  | { readonly problem: string }
  /** The question's goggles are not fully compiled yet. Send the question again. */
  | { readonly unbuilt: true }
  /** The rule that the question's goggles break. */
  | { readonly goggles: string }
  | { readonly closed: true }
