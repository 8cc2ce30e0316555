import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** The outcome of a request that asks the database to write. */
export type WireFault =
  | 'none'
  /** The database does it, and its answer is lost. */
  | 'answer lost'
  /** The database gets it twice, the second time in a stream of its own, and what it answers to that comes back. */
  | 'twice'
  /** Its previous answer comes back. */
  | 'old answer'
  /** The connection breaks, and the database gets the request when the test lets it through. */
  | 'late'
  /** Nothing comes back, for ever. */
  | 'hangs'
  /** Answers with a gigabyte, compressed. */
  | 'bomb'

const FENCE = 'UPDATE owner SET asserted'

/** A wire between a gateway and a libSQL server that breaks as the test says. Requests that only read pass. */
export async function openDatabaseProxy(target: string) {
  let fault: WireFault = 'none'
  let met = FENCE
  const late: (() => Promise<unknown>)[] = []
  let last: { readonly body: Buffer; readonly status: number } | null = null
  const seen: string[] = []
  const server = createServer((request, response) => void handle(request, response))
  const forward = (request: IncomingMessage, body: Buffer<ArrayBuffer>) =>
    fetch(target + (request.url ?? '/'), {
      method: request.method ?? 'GET',
      headers: { 'content-type': request.headers['content-type'] ?? 'application/json' },
      ...(body.length > 0 && { body }),
    })
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const now = body.includes(met) ? fault : 'none'
    seen.push(now)
    if (now === 'hangs') return
    if (now === 'late') {
      late.push(() => forward(request, body).then((answer) => answer.text()))
      return void request.socket.destroy()
    }
    if (now === 'bomb') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      return void response.end(bomb())
    }
    if (now === 'old answer' && last) {
      response.writeHead(last.status, { 'content-type': 'application/json' })
      return void response.end(last.body)
    }
    let answer = await forward(request, body).catch(() => null)
    if (answer && now === 'twice')
      answer = await forward(request, Buffer.from(body.toString().replace(/"baton":"[^"]*"/, '"baton":null')))
    if (!answer || now === 'answer lost') return void request.socket.destroy()
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    const answered = Buffer.from(await answer.arrayBuffer())
    if (body.includes(FENCE)) last = { body: answered, status: answer.status }
    response.end(answered)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (!address || typeof address === 'string') throw new Error('no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    seen,
    /** From here on, what becomes of requests with this text: by default, what every write of a gateway begins with. */
    set(next: WireFault, text = FENCE) {
      fault = next
      met = text
    },
    /** Lets what was late through, to the end. Gives the database's answers. */
    async letThrough() {
      return Promise.all(late.splice(0).map((send) => send()))
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** A gigabyte of spaces, in a megabyte: many packed parts, one after the other. */
function bomb(): Uint8Array {
  const part = Bun.gzipSync(new Uint8Array(16 * 1024 * 1024).fill(32))
  return Buffer.concat(Array.from({ length: 64 }, () => part))
}
