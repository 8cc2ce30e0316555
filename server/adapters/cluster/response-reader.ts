import { isPassed, type ResponseHead } from './response-head'

/** Receives a response piece by piece, in this order. */
export interface ResponseSink {
  head(head: ResponseHead): void
  /** Bytes of the body, as they arrived. */
  body(bytes: Uint8Array<ArrayBuffer>): void
  end(): void
}

/** The received bytes are not an HTTP/1.1 response. */
class BadResponse extends Error {}

const MAX_HEAD_BYTES = 256 * 1024
const MAX_CHUNK_LINE_BYTES = 8 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')
type Step = 'head' | 'counted' | 'chunk line' | 'chunk' | 'chunk end' | 'trailers' | 'until close' | 'ended'

/** Reads one response of HTTP/1.1 from the bytes of a connection (RFC 9112). */
export class ResponseReader {
  private readonly isHead: boolean
  private readonly sink: ResponseSink
  private step: Step = 'head'
  /** Bytes of an unfinished line or head. */
  private rest: Buffer<ArrayBuffer> | null = null
  /** Bytes left in the body or chunk. */
  private remaining = 0

  /** `isHead`: the request was a HEAD, so there is no body, whatever the headers say. */
  constructor(isHead: boolean, sink: ResponseSink) {
    this.isHead = isHead
    this.sink = sink
  }

  /** Reads received bytes. Throws if they are not HTTP or continue after the end of the response. */
  read(bytes: Buffer<ArrayBuffer>): void {
    let input = this.rest ? Buffer.concat([this.rest, bytes]) : bytes
    this.rest = null
    while (input.byteLength > 0) {
      const taken = this.take(input)
      if (taken === null) {
        this.rest = input
        return
      }
      input = input.subarray(taken)
    }
  }

  /** The connection was closed, which ends a response that has neither a length nor chunks. */
  close(): void {
    if (this.step === 'until close') this.finish()
  }

  /** Reads one part from the front and returns its length; null if the part is incomplete. */
  private take(input: Buffer<ArrayBuffer>): number | null {
    switch (this.step) {
      case 'head':
        return this.takeHead(input)
      case 'counted':
      case 'chunk':
        return this.takeBody(input)
      case 'until close':
        this.sink.body(input)
        return input.byteLength
      case 'chunk line':
        return this.takeChunkLine(input)
      case 'chunk end':
        return this.takeChunkEnd(input)
      case 'trailers':
        return this.takeTrailer(input)
      case 'ended':
        throw new BadResponse('bytes after the end of the response')
    }
  }

  private takeHead(input: Buffer<ArrayBuffer>): number | null {
    const end = input.indexOf(HEAD_END)
    if ((end < 0 ? input.byteLength : end) > MAX_HEAD_BYTES) throw new BadResponse('its head is too large')
    if (end < 0) return null
    const lines = input.toString('latin1', 0, end).split('\r\n')
    const [, minor, code] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(lines[0] ?? '') ?? []
    if (code === undefined) throw new BadResponse('it does not begin with a status line')
    const status = Number(code)
    if (status === 101 || status < 100) throw new BadResponse(`status ${status}`)
    // 100 and 103 come before the response.
    if (status >= 200) this.begin(status, lines, minor === '1')
    return end + HEAD_END.byteLength
  }

  private begin(status: number, lines: readonly string[], isCurrent: boolean): void {
    const headers = new Headers()
    let length: number | null = null
    let isChunked = false
    let connection = isCurrent ? '' : 'close'
    for (let i = 1; i < lines.length; i++) {
      const line = lines[i] ?? ''
      const colon = line.indexOf(':')
      const name = line.slice(0, colon).toLowerCase()
      if (colon < 1 || name.endsWith(' ')) throw new BadResponse('a header line has no name')
      const value = line.slice(colon + 1).trim()
      if (name === 'content-length') length = lengthOf(value, length)
      else if (name === 'transfer-encoding') isChunked = isChunkedOnly(value)
      else if (name === 'connection') connection += `,${value.toLowerCase()}`
      else if (isPassed(name)) headers.append(name, value)
    }
    const named = connection === '' ? [] : connection.split(',').map((token) => token.trim())
    for (const name of named) if (name !== '' && name !== 'close' && name !== 'keep-alive') headers.delete(name)
    if (isChunked && length !== null) throw new BadResponse('it has both a length and chunks')
    const hasBody = !this.isHead && status !== 204 && status !== 304
    this.step = !hasBody ? 'ended' : isChunked ? 'chunk line' : length === null ? 'until close' : 'counted'
    this.remaining = length ?? 0
    const keepsConnection = !named.includes('close') && this.step !== 'until close'
    // Bun sets the length of a body itself. In a response without a body, it is the length that a GET would get.
    if (!hasBody && length !== null && status !== 204) headers.set('content-length', `${length}`)
    this.sink.head({ status, headers, length: hasBody ? length : 0, keepsConnection })
    if (this.step === 'ended' || (this.step === 'counted' && this.remaining === 0)) this.finish()
  }

  private takeBody(input: Buffer<ArrayBuffer>): number {
    const taken = Math.min(this.remaining, input.byteLength)
    this.remaining -= taken
    this.sink.body(taken === input.byteLength ? input : input.subarray(0, taken))
    if (this.remaining === 0) {
      if (this.step === 'chunk') this.step = 'chunk end'
      else this.finish()
    }
    return taken
  }

  private takeChunkLine(input: Buffer<ArrayBuffer>): number | null {
    const end = lineEnd(input)
    if (end === null) return null
    const [, size] = /^([0-9a-fA-F]{1,12})[ \t]*(?:;.*)?$/.exec(input.toString('latin1', 0, end)) ?? []
    if (size === undefined) throw new BadResponse('a chunk has no size')
    this.remaining = Number.parseInt(size, 16)
    this.step = this.remaining === 0 ? 'trailers' : 'chunk'
    return end + LINE_END.byteLength
  }

  private takeChunkEnd(input: Buffer<ArrayBuffer>): number | null {
    if (input.byteLength < LINE_END.byteLength) return null
    if (!input.subarray(0, LINE_END.byteLength).equals(LINE_END))
      throw new BadResponse('a chunk is longer than its size')
    this.step = 'chunk line'
    return LINE_END.byteLength
  }

  /** Trailers are dropped, as HTTP/1.1 allows: no node sends any. */
  private takeTrailer(input: Buffer<ArrayBuffer>): number | null {
    const end = lineEnd(input)
    if (end === null) return null
    if (end === 0) this.finish()
    return end + LINE_END.byteLength
  }

  private finish(): void {
    this.step = 'ended'
    this.sink.end()
  }
}

function lineEnd(input: Buffer<ArrayBuffer>): number | null {
  const end = input.indexOf(LINE_END)
  if ((end < 0 ? input.byteLength : end) > MAX_CHUNK_LINE_BYTES) throw new BadResponse('a line is too long')
  return end < 0 ? null : end
}

function lengthOf(value: string, before: number | null): number {
  const length = /^\d{1,15}$/.test(value) ? Number(value) : null
  if (length === null || (before !== null && before !== length)) throw new BadResponse('its length is not a number')
  return length
}

function isChunkedOnly(value: string): boolean {
  if (value.toLowerCase() !== 'chunked') throw new BadResponse(`transfer coding "${value.slice(0, 40)}"`)
  return true
}
