import type { IndexDocument, IndexImage } from '../build/index-document'

/** What one file or page of an operator's source adds to the index. */
export interface OwnContent {
  readonly document: IndexDocument | null
  readonly images: readonly IndexImage[]
}

/** How a source is read; kept with it, so that reading it again needs no more than its location. */
export interface SourceSettings {
  /** The name of the site, where a page names none. */
  readonly site: string
  /** Where the files of a folder are found on the web; it ends with a slash. */
  readonly baseUrl: string
}

/** A file or page as it was fetched. */
export interface RawFile {
  /** Where it was found within its source: a path, or an address. */
  readonly origin: string
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Of a response, lower case and without parameters; empty for files, which are told by their names. */
  readonly contentType: string
  /** Where it stands on the web. */
  readonly url: string
}

/** A file or page that cannot be indexed; the message says why. */
export class Unreadable extends Error {}

/** What `FileReader` sends its process, and what comes back. */
export interface ToReader {
  readonly file: RawFile
  readonly settings: SourceSettings
}
export type FromReader = { readonly content: OwnContent } | { readonly problem: string }
