import { fullGC, heapStats } from 'bun:jsc'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { benchConfig, openBenchGateway } from './bench-gateway'
import { MODEL, writeChatModel } from './chat-model'
import { pictures } from './pictures'

/**
 * `allocating-calls.ts FOLDER search|imported|chat|stream` makes charged calls of the gateway in this process, without a socket and with `fetch`
 * as the double of all upstreams, and prints how many cells of the JavaScript heap a call takes. Its heap must be large enough that no
 * collection runs meanwhile.
 */
const WARM_CALLS = 8192
const CALLS = 192
/** The runtime also collects by timers of its own: then what was counted is thrown away. */
const MAX_TRIES = 10
const AT_ONCE = 64

const [folder = '', kind = 'search'] = process.argv.slice(2)
const ORIGIN = 'http://127.0.0.1:4000'
const QUERY = 'q=credit%20card&count=20&country=US&safesearch=strict'
const SEARCH = `${ORIGIN}/apis/v1/websearch/images/search?${QUERY}`
const IMPORTED = `${ORIGIN}/apis/v1/pictures/images/search?${QUERY}`
const isSearch = kind === 'search' || kind === 'imported'

const JSON_TYPE = { 'content-type': 'application/json' }
const RESULTS = new TextEncoder().encode(JSON.stringify({ type: 'images', results: ['x'.repeat(2000)] }))
const USAGE = { prompt_tokens: 12, completion_tokens: 150, total_tokens: 162 }
const CHAT = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: MODEL,
  usage: USAGE,
  choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(600) }, finish_reason: 'stop' }],
})
const chunk = (choices: readonly object[], usage: object | null) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: MODEL, choices, usage })}\n\n`
const WORDS = chunk([{ index: 0, delta: { content: 'some words ' }, finish_reason: null }], null)
const EVENTS = [...Array.from({ length: 10 }, () => WORDS.repeat(6)), `${chunk([], USAGE)}data: [DONE]\n\n`].map(
  (text) => new TextEncoder().encode(text),
)

function answerOfUpstream(): Response {
  if (isSearch) return new Response(RESULTS, { headers: JSON_TYPE })
  if (kind === 'chat') return new Response(CHAT, { headers: JSON_TYPE })
  const events = EVENTS.values()
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = events.next()
      if (next.done) controller.close()
      else controller.enqueue(next.value)
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** Accepts the connection by which the gateway finds out that the upstream is there. */
const listener = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
writeChatModel(folder, `http://127.0.0.1:${listener.port}`)
globalThis.fetch = Object.assign(async () => answerOfUpstream(), { preconnect: () => undefined })
const UPSTREAM = 'http://127.0.0.1:4001'
const gateway = await openBenchGateway(benchConfig(folder, 4000), UPSTREAM)
gateway.core.apis.replace([pictures(UPSTREAM)])
const [key = ''] = readFileSync(join(folder, 'keys.txt'), 'utf8').trim().split('\n')
const authorization = `Bearer ${key}`
const sent = JSON.stringify({
  ...(kind === 'stream' && { stream: true }),
  model: MODEL,
  max_tokens: 500,
  messages: [{ role: 'user', content: 'hello '.repeat(60) }],
})

function request(): Request {
  if (isSearch) return new Request(kind === 'search' ? SEARCH : IMPORTED, { headers: { authorization } })
  const headers = { authorization, ...JSON_TYPE, 'content-length': String(sent.length) }
  return new Request(`${ORIGIN}/v1/chat/completions`, { method: 'POST', headers, body: sent })
}

async function call(): Promise<void> {
  const response = await gateway.fetch(request())
  const body = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${body}`)
}

/** Gone after the next collection. */
function young(): WeakRef<object> {
  return new WeakRef({})
}

async function calls(count: number): Promise<void> {
  for (let made = 0; made < count; made += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, call))
}

/** The objects before and after the calls, of a try without a collection. */
async function undisturbed() {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    fullGC()
    const witness = young()
    const before = heapStats().objectTypeCounts
    await calls(CALLS)
    const after = heapStats().objectTypeCounts
    if (witness.deref()) return { before, after }
  }
  throw new Error(`a collection ran in each of ${MAX_TRIES} tries: count fewer calls`)
}

await calls(WARM_CALLS)
await Bun.sleep(500)
const { before, after } = await undisturbed()
const classes = Object.entries(after)
  .map(([name, count]) => [name, (count - (before[name] ?? 0)) / CALLS] as const)
  .sort(([, one], [, other]) => other - one)
const cells = classes.reduce((sum, [, count]) => sum + count, 0)
await gateway.close()
process.stdout.write(JSON.stringify({ cells, classes: classes.slice(0, 6) }))
process.exit(0)
