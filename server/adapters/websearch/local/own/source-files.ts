import { constants } from 'node:fs'
import { type FileHandle, open, readdir, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { Parser } from 'htmlparser2'
import type { OutboundFetch } from '../../../../core/outbound/outbound-fetch'
import { fileForm } from './file-form'
import { type RawFile, type SourceSettings, Unreadable } from './own-content'

/** One file or page of a source, not read yet. */
export interface SourceFile {
  readonly origin: string
  /** Null if it no longer exists. Throws `Unreadable` if it cannot be fetched now. */
  fetch(): Promise<RawFile | null>
}

const MAX_FILE_BYTES = 50_000_000
const MAX_PAGE_BYTES = 16_000_000
const MAX_SITEMAP_PAGES = 50_000
const MAX_SITEMAPS = 500
const MAX_SITEMAP_DEPTH = 20
const PAGE_TIMEOUT_MS = 20_000
const MAX_REDIRECTS = 5

export function isAddress(location: string): boolean {
  return /^https?:\/\//i.test(location)
}

/** The indexable files of a folder, or the file itself. Images come last, after the pages that may show them. */
export async function folderFiles(location: string, settings: SourceSettings): Promise<SourceFile[]> {
  // Only the path that the operator named may be a link.
  const named = await realpath(location)
  const found = await stat(named)
  const paths = found.isDirectory() ? await pathsUnder(named) : [named]
  const root = found.isDirectory() ? named : dirname(named)
  return paths
    .sort((a, b) => Number(fileForm(a) === 'image') - Number(fileForm(b) === 'image') || (a < b ? -1 : 1))
    .map((path) => localFile(root, path, settings))
}

function localFile(root: string, path: string, settings: SourceSettings): SourceFile {
  const origin = relative(root, path).split(sep).join('/')
  const url = new URL(origin.split('/').map(encodeURIComponent).join('/'), settings.baseUrl).href
  return {
    origin,
    async fetch() {
      const bytes = await readInside(root, path, MAX_FILE_BYTES)
      return bytes && { origin, url, contentType: '', bytes }
    },
  }
}

/** All indexable files, plus links and unreadable folders, so that the report names them. */
async function pathsUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const below = entries
    .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
    .map((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return pathsUnder(path).catch(() => [path])
      return entry.isSymbolicLink() || fileForm(path) !== null ? [path] : []
    })
  return (await Promise.all(below)).flat()
}

/** The page at a URL or, if it is a sitemap, its pages and those of the sitemaps that it lists. */
export async function webFiles(location: string, fetch: OutboundFetch): Promise<SourceFile[]> {
  const first = await got(location, fetch)
  if (first === null) throw new Unreadable('there is no page at this URL')
  if (!isSitemap(first)) return [{ origin: location, fetch: async () => first }]
  const pages = new Set<string>()
  const waiting = [first]
  const seen = new Set([location])
  for (let read = 0; read < MAX_SITEMAPS; read++) {
    const next = waiting.shift()
    if (!next) break
    const { isIndex, addresses } = sitemapOf(next)
    for (const address of addresses) {
      if (!isAddress(address) || seen.has(address)) continue
      seen.add(address)
      if (!isIndex) pages.add(address)
      else {
        const sitemap = await got(address, fetch)
        if (sitemap) waiting.push(sitemap)
      }
    }
  }
  return [...pages].slice(0, MAX_SITEMAP_PAGES).map((page) => ({ origin: page, fetch: () => got(page, fetch) }))
}

async function got(address: string, fetch: OutboundFetch): Promise<RawFile | null> {
  const answer = await fetch({
    url: address,
    timeoutMs: PAGE_TIMEOUT_MS,
    maxBytes: MAX_PAGE_BYTES,
    maxRedirects: MAX_REDIRECTS,
  })
  if (!answer.ok) throw new Unreadable(`${answer.error.kind.replaceAll('_', ' ')}: ${answer.error.reason}`)
  const { status, url, contentType, body } = answer.value
  if (status === 404 || status === 410) return null
  if (status !== 200) throw new Unreadable(`the server answered ${status}`)
  return { origin: address, url, contentType, bytes: body }
}

function isSitemap(file: RawFile): boolean {
  return /<(?:urlset|sitemapindex)\b/.test(xmlOf(file).slice(0, 2000))
}

/** Decompresses a sitemap if its first bytes are those of gzip. */
function xmlOf({ bytes, contentType }: RawFile): string {
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b
  if (!isPacked && !/xml|text|^$/.test(contentType)) return ''
  return new TextDecoder().decode(isPacked ? gunzipSync(bytes, { maxOutputLength: MAX_FILE_BYTES }) : bytes)
}

/** The entries of a sitemap. Stops at nesting deeper than any real sitemap has, which is three levels. */
function sitemapOf(file: RawFile): { readonly isIndex: boolean; readonly addresses: readonly string[] } {
  const xml = xmlOf(file)
  const addresses: string[] = []
  const open: string[] = []
  const parser = new Parser(
    {
      onopentagname(name) {
        if (open.push(name) > MAX_SITEMAP_DEPTH) parser.pause()
        if (isLoc(name)) addresses.push('')
      },
      ontext(text) {
        if (isLoc(open.at(-1))) addresses.push((addresses.pop() ?? '') + text)
      },
      onclosetag() {
        open.pop()
      },
    },
    { xmlMode: true },
  )
  parser.write(xml)
  return {
    isIndex: /<sitemapindex\b/.test(xml.slice(0, 2000)),
    addresses: addresses.map((address) => address.trim()).filter((address) => address !== ''),
  }
}

/** Also matches names with a namespace prefix, which some generators write. */
function isLoc(name: string | undefined): boolean {
  return name === 'loc' || name === 'sm:loc'
}

/** The default name of a source: the host of its URL, or the name of the folder. */
export function siteNameOf(location: string): string {
  return isAddress(location) ? new URL(location).hostname.replace(/^www\./, '') : basename(location)
}

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

/**
 * The bytes of a regular file inside `root`, which must be a real path; null if the file does not exist. Checks the opened file, not
 * the listing: throws `Unreadable` for a link, a pipe, a device, a file outside the root, and one larger than `maxBytes`. Never
 * blocks on a pipe.
 */
async function readInside(root: string, path: string, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | null> {
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((problem: unknown) => {
    const code: unknown = Reflect.get(Object(problem), 'code')
    if (code === 'ENOENT') return null
    throw new Unreadable(code === 'ELOOP' ? 'a symbolic link, which is not followed' : `cannot be opened (${code})`)
  })
  if (!handle) return null
  try {
    const found = await handle.stat()
    if (!found.isFile()) throw new Unreadable('not a regular file')
    if (found.size > maxBytes) throw new Unreadable(`larger than ${maxBytes / 1e6} MB`)
    // A parent folder may have become a link since it was listed, so check where the file really is.
    const real = await openedAt(handle, path)
    if (real === null || !isInside(root, real)) throw new Unreadable('it is outside the folder')
    const bytes = new Uint8Array(found.size)
    const { bytesRead } = await handle.read(bytes, 0, found.size, 0)
    return bytes.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

/**
 * The real path of an opened file. Linux reports it for the handle itself. Elsewhere the path is resolved and compared with the
 * handle; null if it is another file by now. That misses a folder that is swapped for a link and back between the two checks.
 */
async function openedAt(handle: FileHandle, path: string): Promise<string | null> {
  const ofHandle = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => null)
  if (ofHandle !== null) return ofHandle
  const real = await realpath(path)
  const [opened, there] = await Promise.all([handle.stat(), stat(real)])
  return there.ino === opened.ino && there.dev === opened.dev ? real : null
}

function isInside(root: string, real: string): boolean {
  return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)
}
