import { isJson, type Json } from '../../core/json'
import { err, ok, type Result } from '../../core/result'
import { readDocument } from './read-document'

const MAX_EXTERNAL = 500
/** References that lead to references. */
const MAX_HOPS = 20

/** Fetches another document as text. The error follows the reference's name. */
export type LoadExternal = (url: string) => Promise<Result<string, string>>

/** A part of a document. `base` is the document's URL; empty if it is not known. */
export interface Located {
  readonly value: unknown
  readonly base: string
  /** Names the part: the document's URL and the JSON Pointer. Only for the targets of references. */
  readonly key: string
}

/** The document and those that it refers to, all loaded. Resolves references between them, and executes nothing. */
export class Documents {
  readonly root: Json
  private readonly base: string
  private fetched = 0
  private readonly loaded = new Map<string, Result<Json, string>>()

  private constructor(root: Json, base: string) {
    this.root = root
    this.base = base
    this.loaded.set(base, ok(root))
  }

  /** Loads what the document refers to, as far as it is of the same origin. A part that could not be loaded is a problem of its references. */
  static async load(root: Json, origin: string | undefined, external: LoadExternal | null): Promise<Documents> {
    const base = withoutFragment(URL.parse(origin ?? '')?.href ?? '')
    const documents = new Documents(root, base)
    const waiting: { readonly value: Json; readonly base: string }[] = [{ value: root, base }]
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      for (const url of externalOf(next.value, next.base)) {
        if (documents.loaded.has(url)) continue
        const read = await documents.fetch(url, external)
        documents.loaded.set(url, read)
        if (read.ok) waiting.push({ value: read.value, base: url })
      }
    }
    return documents
  }

  get start(): Located {
    return { value: this.root, base: this.base, key: '' }
  }

  /** Follows a reference, and those that it leads to. The error names it. */
  resolve(ref: string, from: Pick<Located, 'base'>): Result<Located, string> {
    let at: Result<Located, string> = this.target(ref, from.base)
    for (let hops = 0; at.ok && isJson(at.value.value) && typeof at.value.value['$ref'] === 'string'; hops++) {
      if (Object.keys(at.value.value).length > 1) break // the members next to it count
      if (hops === MAX_HOPS) return err(`the reference ${shownRef(ref)} leads to further references without end`)
      at = this.target(at.value.value['$ref'], at.value.base)
    }
    return at
  }

  /** The part itself, or what it refers to. */
  follow(part: Located): Result<Located, string> {
    let at = part
    for (let hops = 0; isJson(at.value) && typeof at.value['$ref'] === 'string'; hops++) {
      if (hops === MAX_HOPS) return err(`the reference ${shownRef(at.value['$ref'])} leads to further references`)
      const next = this.target(at.value['$ref'], at.base)
      if (!next.ok) return next
      at = next.value
    }
    return ok(at)
  }

  /** As `follow`, with the members that stand next to the reference, as a path item may have them. */
  followWithin(part: Located): Result<Located, string> {
    const followed = this.follow(part)
    if (!followed.ok || !isJson(part.value) || !isJson(followed.value.value)) return followed
    const { $ref, ...beside } = part.value
    if ($ref === undefined || Object.keys(beside).length === 0) return followed
    const { value, base } = followed.value
    if (base !== part.base && !Object.values(beside).every((one) => typeof one === 'string'))
      return err('has members next to a reference to another document')
    return ok({ ...followed.value, value: { ...value, ...beside } })
  }

  private target(ref: string, base: string): Result<Located, string> {
    const hash = ref.indexOf('#')
    const address = hash < 0 ? ref : ref.slice(0, hash)
    const fragment = hash < 0 ? '' : ref.slice(hash + 1)
    const url = address === '' ? base : URL.parse(address, base || undefined)?.href
    const document = url === undefined ? undefined : this.loaded.get(url)
    if (!document) {
      const why = url === undefined ? 'that was not found beside this one' : 'that is not of the same origin'
      return err(`the reference ${shownRef(ref)} leads to a document ${why}`)
    }
    if (!document.ok) return err(`the reference ${shownRef(ref)} ${document.error}`)
    const pointer = decoded(fragment)
    if (pointer === null || (pointer !== '' && !pointer.startsWith('/'))) {
      return err(`the reference ${shownRef(ref)} is no JSON Pointer`)
    }
    const found = lookUp(document.value, pointer)
    if (found === undefined) return err(`the reference ${shownRef(ref)} leads nowhere`)
    return ok({ value: found, base: url ?? base, key: `${url === this.base ? '' : url}#${pointer}` })
  }

  private async fetch(url: string, external: LoadExternal | null): Promise<Result<Json, string>> {
    const own = URL.parse(this.base)
    const target = URL.parse(url)
    if (!own || !target || target.origin !== own.origin || !/^https?:$/.test(target.protocol)) {
      return err('leads to a document that is not of the same origin')
    }
    if (!external) return err('leads to another document, and those are not fetched here')
    if (++this.fetched > MAX_EXTERNAL) return err(`is one of more than ${MAX_EXTERNAL} other documents`)
    const text = await external(url)
    if (!text.ok) return err(`leads to a document that ${text.error}`)
    const read = readDocument(text.value)
    return read.ok ? read : err(`leads to a document that ${read.error}`)
  }
}

/** The URLs of the other documents that a document refers to. */
function externalOf(value: Json, base: string): Set<string> {
  const urls = new Set<string>()
  const visit = (part: unknown): void => {
    if (Array.isArray(part)) for (const one of part) visit(one)
    else if (isJson(part)) member(part)
  }
  const member = (part: Json): void => {
    // No list of names is made: there are a million objects in the largest documents.
    for (const name in part) {
      if (!Object.hasOwn(part, name)) continue
      const inside = part[name]
      if (name !== '$ref' || typeof inside !== 'string') {
        if (typeof inside === 'object') visit(inside)
      } else if (!inside.startsWith('#')) {
        const url = URL.parse(inside, base || undefined)
        if (url) urls.add(withoutFragment(url.href))
      }
    }
  }
  visit(value)
  return urls
}

function withoutFragment(url: string): string {
  return url.split('#')[0] ?? ''
}

function decoded(fragment: string): string | null {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return null
  }
}

function lookUp(document: Json, pointer: string): unknown {
  let at: unknown = document
  for (const part of pointer === '' ? [] : pointer.slice(1).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = Reflect.get(at, name)
  }
  return at
}

/** A reference in a message: short, and without anything that hides. */
function shownRef(ref: string): string {
  return JSON.stringify(ref.length > 100 ? `${ref.slice(0, 99)}…` : ref).replace(/[^\x20-\x7e…]/g, '?')
}
