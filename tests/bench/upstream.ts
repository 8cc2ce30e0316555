import { obey } from './workshop'

/**
 * The double upstream, in a process of its own: `/BYTES/MS/...` answers an image search's JSON of about that many bytes after
 * that long; a path with `chat/completions` answers a chat. It says `ready PORT`.
 */
function images(bytes: number): Uint8Array<ArrayBuffer> {
  const results: object[] = []
  for (;;) {
    const i = results.length
    results.push({
      type: 'image_result',
      title: `Result ${i}, a title as long as titles are`,
      url: `https://example.org/page/${i}?ref=search`,
      source: 'example.org',
      thumbnail: { src: `https://img.example.org/small/${i}.jpg`, width: 320, height: 200 },
      properties: { url: `https://img.example.org/full/${i}.jpg`, width: 1600, height: 1000 },
    })
    const body = JSON.stringify({ type: 'images', query: { original: 'credit card' }, results })
    if (body.length >= bytes) return new TextEncoder().encode(body)
  }
}

const CHAT = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-mini',
  choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(600) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 12, completion_tokens: 150, total_tokens: 162 },
})
const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o-mini', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`
/** 60 events of some tokens each; six to a chunk, as a busy network delivers them. */
const CHUNKS = Array.from({ length: 10 }, () =>
  new TextEncoder().encode(
    Array.from({ length: 6 }, () => chunk({ content: 'some words ' }, { usage: null })).join(''),
  ),
)
const LAST = new TextEncoder().encode(
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o-mini', choices: [], usage: { prompt_tokens: 70, completion_tokens: 150, total_tokens: 220 } })}\n\ndata: [DONE]\n\n`,
)

/** As many events as a model of 200 tokens a second sends in half a second, each as it is made. */
const PACED = Array.from({ length: 100 }, () => new TextEncoder().encode(chunk({ content: ' words' }, { usage: null })))
const PACE_MS = 5

function chatStream(chunks: readonly Uint8Array[], paceMs: number): Response {
  let next = 0
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (paceMs > 0) await Bun.sleep(paceMs)
      const bytes = next < chunks.length ? chunks[next] : next === chunks.length ? LAST : undefined
      next++
      if (bytes) controller.enqueue(bytes)
      else controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}
const JSON_TYPE = { 'content-type': 'application/json' }

const bodies = new Map<number, Uint8Array<ArrayBuffer>>()
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 60,
  async fetch(request) {
    const path = request.url.slice(request.url.indexOf('/', 8))
    if (path.includes('chat/completions')) {
      const asked = await request.text()
      if (asked.includes('"user":"paced"')) return chatStream(PACED, PACE_MS)
      if (asked.includes('"stream":true')) return chatStream(CHUNKS, 0)
      return new Response(CHAT, { headers: JSON_TYPE })
    }
    const [, bytes = 0, ms = 0] = path.split('/', 3).map(Number)
    // A node asks for a link to other nodes, which this is not.
    if (!(bytes >= 0)) return new Response(null, { status: 404 })
    const body = bodies.get(bytes) ?? images(bytes)
    bodies.set(bytes, body)
    if (ms > 0) await Bun.sleep(ms)
    return new Response(body, { headers: JSON_TYPE })
  },
})
process.stdout.write(`ready ${server.port}\n`)
await obey({})
