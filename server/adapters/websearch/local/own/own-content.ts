import type { IndexDocument, IndexImage } from '../build/index-document'

/** The content that one file or page of an operator's source adds to the index. */
export interface OwnContent {
  readonly document: IndexDocument | null
  readonly images: readonly IndexImage[]
}

/** How a source is read. Stored with it, so that reading it again needs only its location. */
export interface SourceSettings {
  /** The site name for pages without one. */
  readonly site: string
  /** The URL of the folder's files on the web, with a trailing slash. */
  readonly baseUrl: string
}

/** A fetched file or page. */
export interface RawFile {
  /** Where it was found within its source: a path or a URL. */
  readonly origin: string
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The content type of a response, in lower case without parameters; empty for files, whose format follows from their name. */
  readonly contentType: string
  /** Its URL on the web. */
  readonly url: string
}

/** Thrown for a file or page that cannot be indexed. The message says why. */
export class Unreadable extends Error {}

/** The messages between `FileReader` and its process. */
export interface ToReader {
  readonly file: RawFile
  readonly settings: SourceSettings
}
export type FromReader = { readonly content: OwnContent } | { readonly problem: string }
