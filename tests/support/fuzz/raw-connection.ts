/** One answer as it stood on the wire. */
export interface Answer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  /** One character a byte. */
  readonly body: string
}

/** How a read ended: an answer, the other side closed before one was whole, or nothing came in time. */
export type Read = Answer | 'closed' | 'hang' | 'not HTTP'

/** A TCP connection that says any bytes and reads HTTP/1.1 answers. It hides nothing and mends nothing, as `fetch` does. */
export class RawConnection {
  private readonly port: number
  private socket: Bun.Socket | null = null
  private received = ''
  private closed = false
  private unsent: Buffer = Buffer.alloc(0)
  private wake: () => void = () => undefined

  constructor(port: number) {
    this.port = port
  }

  get isOpen(): boolean {
    return this.socket !== null && !this.closed
  }

  /** Bytes that arrived and were not read. */
  get leftOver(): string {
    return this.received
  }

  async open(): Promise<void> {
    this.received = ''
    this.closed = false
    this.unsent = Buffer.alloc(0)
    const ended = () => {
      this.closed = true
      this.wake()
    }
    this.socket = await Bun.connect({
      hostname: '127.0.0.1',
      port: this.port,
      socket: {
        data: (_socket, chunk) => {
          this.received += chunk.toString('latin1')
          this.wake()
        },
        drain: () => this.flush(),
        end: ended,
        close: ended,
        error: ended,
      },
    })
  }

  send(bytes: string): void {
    this.unsent = Buffer.concat([this.unsent, Buffer.from(bytes, 'latin1')])
    this.flush()
  }

  /** No more comes from this side; the other may still answer. */
  halfClose(): void {
    this.socket?.shutdown()
  }

  close(): void {
    this.socket?.end()
    this.socket = null
    this.closed = true
  }

  /** The next answer; an interim one (100) is passed over. */
  async read(method: string, deadlineMs: number): Promise<Read> {
    let late = false
    const timer = setTimeout(() => {
      late = true
      this.wake()
    }, deadlineMs)
    try {
      for (;;) {
        const found = cut(this.received, method, this.closed)
        if (found === 'not HTTP') return 'not HTTP'
        if (found) {
          this.received = this.received.slice(found.length)
          if (found.answer.status >= 200) return found.answer
          continue
        }
        if (this.closed) return 'closed'
        if (late) return 'hang'
        const woken = Promise.withResolvers<void>()
        this.wake = woken.resolve
        await woken.promise
      }
    } finally {
      clearTimeout(timer)
      this.wake = () => undefined
    }
  }

  private flush(): void {
    if (!this.socket || this.closed || this.unsent.length === 0) return
    const sent = this.socket.write(this.unsent)
    this.unsent = this.unsent.subarray(Math.max(0, sent))
  }
}

/** The first whole answer of a text; null while it is not whole. */
function cut(text: string, method: string, ended: boolean): { answer: Answer; length: number } | 'not HTTP' | null {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const [first = '', ...lines] = text.slice(0, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})(?: [ -~]*)?$/.exec(first)?.[1] ?? Number.NaN)
  if (Number.isNaN(status)) return 'not HTTP'
  const headers = new Map<string, string[]>()
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([^\0\r\n]*?)[ \t]*$/.exec(line) ?? []
    if (name === undefined || value === undefined) return 'not HTTP'
    headers.set(name.toLowerCase(), [...(headers.get(name.toLowerCase()) ?? []), value])
  }
  const start = headEnd + 4
  const whole = (body: string, length: number) => ({ answer: { status, headers, body }, length: start + length })
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return whole('', 0)
  if (headers.get('transfer-encoding')?.[0] === 'chunked') return chunked(text, start, whole)
  const length = headers.get('content-length')?.[0]
  if (length !== undefined) {
    const bytes = Number(length)
    return text.length >= start + bytes ? whole(text.slice(start, start + bytes), bytes) : null
  }
  return ended ? whole(text.slice(start), text.length - start) : null
}

function chunked<T>(text: string, start: number, whole: (body: string, length: number) => T): T | null {
  let at = start
  let body = ''
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd < 0) return null
    const size = Number.parseInt(text.slice(at, lineEnd), 16)
    if (text.length < lineEnd + 2 + size + 2) return null
    if (size === 0) return whole(body, lineEnd + 4 - start)
    body += text.slice(lineEnd + 2, lineEnd + 2 + size)
    at = lineEnd + 2 + size + 2
  }
}
