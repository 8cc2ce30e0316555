import type { ContextQuestion } from './context-answer'
import type { ImageQuestion } from './image-answer'

/** What is asked of the index. The answer is text: a response body, or nothing for `ready`. */
export type Question =
  | { readonly kind: 'images'; readonly input: ImageQuestion; readonly baseUrl: string }
  | { readonly kind: 'context'; readonly input: ContextQuestion; readonly baseUrl: string; readonly nowMs: number }
  | { readonly kind: 'ready' }

/** What the serving thread sends to the worker: the file first and once, then questions by number. */
export type ToWorker =
  | { readonly open: string }
  | { readonly id: number; readonly question: Question }
  | { readonly cancel: number }
  | { readonly close: true }

export type FromWorker =
  | { readonly id: number; readonly body: string }
  | { readonly id: number; readonly problem: string }
  /** The rule that the question's goggles break. */
  | { readonly id: number; readonly goggles: string }
  | { readonly closed: true }
