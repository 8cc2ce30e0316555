/** Where the gateway serves the guide. */
export const GUIDE_PATH = '/docs/guide'

/** A heading of a page, for links to it. */
export interface GuideHeading {
  readonly level: number
  readonly id: string
  readonly text: string
}

/** A page of the documentation, rendered. */
export interface GuidePage {
  /** Its address below the guide, such as `models` or `adr/0001-micro-usd`; empty for the first page. */
  readonly path: string
  readonly title: string
  /** Safe HTML: the renderer escapes everything that is not its own markup. */
  readonly html: string
  readonly headings: readonly GuideHeading[]
}

/** The address of a page or file of the guide, by its path below it. */
export function guideAddress(path: string): string {
  return path === '' ? GUIDE_PATH : `${GUIDE_PATH}/${path}`
}

/** A section that answers a search. */
export interface GuideHit {
  readonly path: string
  readonly page: string
  /** Empty for the beginning of a page. */
  readonly heading: string
  /** The id of its heading. */
  readonly id: string
  readonly snippet: string
}

/** Pages for one kind of reader. */
export interface GuideShelf {
  readonly reader: string
  readonly pages: readonly { readonly path: string; readonly title: string }[]
}

/** The documentation that comes with the gateway: README.md and docs/. */
export interface Guide {
  page(path: string): GuidePage | null
  /** Best first. */
  search(query: string): readonly GuideHit[]
  /** The index by reader. */
  shelves(): readonly GuideShelf[]
  /** A file that pages show or link, such as a picture. */
  file(path: string): { readonly type: string; readonly bytes: Uint8Array<ArrayBuffer> } | null
}
