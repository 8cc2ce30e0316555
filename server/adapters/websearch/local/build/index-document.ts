import type { AdultLevel } from '../../passages/page-content'
import type { PagePlace } from '../../passages/page-place'

/** The kind of a document. It selects the default image and has a small effect on ranking. */
export type DocumentKind = 'readme' | 'guide' | 'changelog' | 'page'

/** A page to index. `url` identifies it: of two documents with the same URL the first is kept. */
export interface IndexDocument {
  /** Absolute https address of the page. */
  readonly url: string
  readonly title: string
  /** Markdown or plain text. */
  readonly markdown: string
  readonly kind?: DocumentKind
  readonly siteName?: string
  /** The subject of the page; its first words if absent. */
  readonly description?: string
  /** `YYYY-MM-DD` or an ISO timestamp. Absent if unknown. */
  readonly published?: string
  /** A language tag such as `en` or `pt-br`; `en` if absent. */
  readonly lang?: string
  /** ISO 3166-1 alpha-2; absent if the page is for every country. */
  readonly country?: string
  readonly adult?: AdultLevel
  readonly place?: PagePlace
  /** Absolute https URL; the host's `/favicon.ico` if absent. */
  readonly favicon?: string
  /** Absolute https URL of an image; a default for the kind if absent. */
  readonly thumbnail?: string
  /** Additional keywords that are not shown. */
  readonly keywords?: readonly string[]
}

/** An image to index. */
export interface IndexImage {
  /** Absolute https URL of the page that shows it. */
  readonly pageUrl: string
  readonly title: string
  /** Absolute https URL of the file, or a path of this gateway (`/media/...`), which is resolved when it is returned. */
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
