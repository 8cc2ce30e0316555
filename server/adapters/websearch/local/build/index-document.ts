import type { AdultLevel } from '../../passages/page-content'
import type { PagePlace } from '../../passages/page-place'

/** What sort of page a document is. It decides the picture shown for it and a mild preference in ranking. */
export type DocumentKind = 'readme' | 'guide' | 'types' | 'changelog' | 'page'

/** One page to be indexed. `url` names it: of two documents with one url the first is kept. */
export interface IndexDocument {
  /** Absolute https address of the page. */
  readonly url: string
  readonly title: string
  /** Markdown; plain text is Markdown too. */
  readonly markdown: string
  readonly kind?: DocumentKind
  readonly siteName?: string
  /** What the page is about, whatever was asked; its first words when absent. */
  readonly description?: string
  /** `YYYY-MM-DD` or an ISO timestamp. Absent when the page does not say. */
  readonly published?: string
  /** A language tag such as `en` or `pt-br`; `en` when absent. */
  readonly lang?: string
  /** ISO 3166-1 alpha-2; absent when the page is for every country. */
  readonly country?: string
  readonly adult?: AdultLevel
  readonly place?: PagePlace
  /** Absolute https address; the host's `/favicon.ico` when absent. */
  readonly favicon?: string
  /** Absolute https address of a picture; one that fits the kind when absent. */
  readonly thumbnail?: string
  /** Additional words to find it by, which it does not show. */
  readonly keywords?: readonly string[]
}

/** One picture to be indexed. */
export interface IndexImage {
  /** Absolute https address of the page that shows it. */
  readonly pageUrl: string
  readonly title: string
  /** Absolute https address of the file, or a path of this gateway (`/media/...`), resolved when it is asked for. */
  readonly imageUrl: string
  readonly tags: readonly string[]
  /** In pixels; null when unknown. */
  readonly width: number | null
  readonly height: number | null
  readonly lang?: string
  readonly country?: string
  readonly adult?: AdultLevel
  readonly favicon?: string
}
