import type { ApiVersion } from '../../../core/catalog/api-version'
import type { PageSubject } from '../../../core/goggles/rule-set'
import type { GoggleText } from '../goggles/rule-books'
import type { ContextBudget } from '../passages/context-budget'
import type { AdultLevel } from '../passages/page-content'
import type { CutPage } from '../passages/rank-pages'
import type { ThresholdMode } from '../passages/relevance-floor'

/** A search result: the page's bytes when it was fetched, otherwise the engine's excerpt. */
export interface FoundPage {
  readonly url: string
  /** The engine's title, for pages without one. */
  readonly title: string
  /** The engine's excerpt: the description of a page without one, and the text of a page that was not fetched. */
  readonly excerpt: string
  /** ISO timestamp; null if unknown. */
  readonly published: string | null
  /** Absolute; empty if the engine has none. */
  readonly thumbnail: string
  /** UNIX seconds. */
  readonly fetchedAt: number
  /** 1 is best, down to 0. */
  readonly prior: number
  readonly fetched: {
    readonly bytes: Uint8Array<ArrayBuffer>
    readonly isHtml: boolean
    /** From the server's response; null if absent. */
    readonly charset: string | null
  } | null
}

/** A page split into passages. */
export interface ReadPage {
  readonly page: CutPage
  readonly adult: AdultLevel
}

/** The further input of an answer besides its pages. */
export interface AnswerTask {
  readonly q: string
  readonly altered: string | null
  readonly spellcheck: boolean
  readonly pages: readonly CutPage[]
  readonly goggles: readonly GoggleText[]
  readonly threshold: ThresholdMode
  readonly count: number
  readonly budget: ContextBudget
  readonly withMetadata: boolean
  readonly apiVersion: ApiVersion
  readonly baseUrl: string
  readonly nowMs: number
}

/** A search result as goggles see it before the page is fetched. */
export interface OrderTask {
  readonly goggles: readonly GoggleText[]
  readonly subjects: readonly PageSubject[]
}

/** A task for the thread that reads pages, one at a time. */
export type PageTask = { readonly read: FoundPage } | { readonly order: OrderTask } | { readonly answer: AnswerTask }

export type ToPageThread = { readonly id: number; readonly task: PageTask }

export type FromPageThread =
  | { readonly ready: true }
  | { readonly id: number; readonly page: ReadPage }
  | { readonly id: number; readonly body: string }
  /** The indexes of the subjects that goggles keep, in their new order. */
  | { readonly id: number; readonly order: readonly number[] }
  /** The goggles are not fully built yet: send the task again. */
  | { readonly id: number; readonly unbuilt: true }
  /** The rule that the task's goggles break. */
  | { readonly id: number; readonly goggles: string }
  | { readonly id: number; readonly problem: string }
