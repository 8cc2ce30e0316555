import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib'
import { ownerOf } from '../request-context'
import { acceptedEncoding, type Encoding } from './accepted-encoding'
import { UnreadAnswers } from './unread-answers'

const MIN_BYTES = 1024
/** Larger answers are exports, which are not held twice in memory. */
const MAX_BYTES = 4 * 1024 * 1024
const MAX_CACHED = 8

/** The documents that every client may ask for again: they have an ETag, and their compressed form is kept. */
const DOCUMENTS =
  /^https?:\/\/[^/]+\/(openapi\.json|openapi\/operations|llms\.txt|schemas\/|\.well-known\/|v1\/catalog(\?|$))/
/** Responses that are compressed on each request: the owner's lists, and the guide. A GET never shows a secret: it is shown once, by the POST that made it. */
const LISTS = /^https?:\/\/[^/]+\/(api\/|docs\/guide)/

/**
 * Compresses documents, the guide and the owner's lists of over 1 KB, off this thread, and answers 304 where the client has the document already. Streams,
 * priced answers and answers that show a secret are never touched.
 */
export class CompressedResponses {
  private readonly unread: UnreadAnswers
  private readonly known = new Map<string, Uint8Array<ArrayBuffer>>()

  constructor(unread: UnreadAnswers) {
    this.unread = unread
  }

  /** The response to a request that `isCompressible`. */
  async of(request: Request, response: Response): Promise<Response> {
    const isDocument = DOCUMENTS.test(request.url)
    const { headers } = response
    if (response.status !== 200) return response
    if (headers.has('content-encoding') || !/json|^text\/(plain|html)/.test(headers.get('content-type') ?? ''))
      return response
    const body = new Uint8Array(await response.arrayBuffer())
    const etag = isDocument ? `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` : null
    headers.append('vary', 'accept-encoding')
    if (etag !== null) {
      // Weak: the same document has other bytes in each encoding.
      headers.set('etag', `W/${etag}`)
      if (isSame(request.headers.get('if-none-match'), etag)) return new Response(null, { status: 304, headers })
    }
    const encoding = acceptedEncoding(request.headers.get('accept-encoding'))
    headers.delete('content-length')
    if (encoding === null || body.byteLength < MIN_BYTES || body.byteLength > MAX_BYTES)
      return this.sent(body, headers, request)
    headers.set('content-encoding', encoding)
    return this.sent(await this.packed(body, encoding, etag), headers, request)
  }

  private sent(body: Uint8Array<ArrayBuffer>, headers: Headers, request: Request): Response {
    const isLarge = UnreadAnswers.isLarge(body)
    return new Response(isLarge ? this.unread.inPieces(body, ownerOf(request)) : body, { status: 200, headers })
  }

  private async packed(
    body: Uint8Array<ArrayBuffer>,
    encoding: Encoding,
    etag: string | null,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const name = `${encoding} ${etag}`
    const known = etag === null ? undefined : this.known.get(name)
    if (known) return known
    const packed = new Uint8Array(await COMPRESS[encoding](body, etag !== null))
    if (etag !== null) {
      this.known.set(name, packed)
      const [oldest] = this.known.keys()
      if (this.known.size > MAX_CACHED && oldest !== undefined) this.known.delete(oldest)
    }
    return packed
  }
}

/** Whether the response to this request may be compressed: most calls are not, and pay for no more than this look. */
export function isCompressible({ method, url }: Request): boolean {
  return method === 'GET' && (LISTS.test(url) || DOCUMENTS.test(url))
}

const br = promisify(brotliCompress)
const gz = promisify(gzip)
const zstd = promisify(zstdCompress)
/** Nearly as small as the best quality in a twentieth of the time. */
const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

/** Compression of kept files may take longer. */
const COMPRESS: Readonly<Record<Encoding, (body: Uint8Array, isKept: boolean) => Promise<Buffer>>> = {
  br: (body) => br(body, QUICK),
  zstd: (body, isKept) => zstd(body, { params: { [constants.ZSTD_c_compressionLevel]: isKept ? 12 : 3 } }),
  gzip: (body, isKept) => gz(body, { level: isKept ? constants.Z_BEST_COMPRESSION : constants.Z_DEFAULT_COMPRESSION }),
}

function isSame(ifNoneMatch: string | null, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}
