import { FAILURES } from '../../../server/http/middleware/response/failures'
import type { Asked, Attempt } from './attempt'
import { BARE_ANSWERS } from './bare-answers'
import type { Answer, Read } from './raw-connection'

const GATED = /^\/(apis|v1|v1beta|mcp)(\/|$)/
const PRICED = /^\/apis\/v1\/websearch\/(images\/search|llm\/context)$/
/** Where a vendor's refusal of the call itself passes as it came (spec D2). */
const MODELS = /^\/v1(beta\/models)?\/[^/]+/
const LIMIT_HEADERS = ['requests', 'tokens', 'concurrency'].flatMap((what) => [
  `x-ratelimit-limit-${what}`,
  `x-ratelimit-remaining-${what}`,
])
const RESETS = ['x-ratelimit-reset-requests', 'x-ratelimit-reset-tokens']
const MEMBERS = new Set([
  'type',
  'code',
  'message',
  'request_id',
  'param',
  'limit_source',
  'retry_after',
  'price',
  'details',
])
/** The price of both data endpoints, 0.005 USD (spec 1.3). */
const PRICE = '5000'
/** Charged for each of its searches; its sandbox models are free. */
const RESEARCH = '/v1/deep-research'
/** Words that only the inside of the service could know. */
const INSIDE = /node_modules|\.ts:\d+|SQLITE_|libsql|\/work\/|Failed query/i

export interface Verdict {
  /** The answer's entry in the summary. */
  readonly outcome: string
  readonly problems: readonly string[]
  readonly chargedMicros: number
}

/** Holds one answer to all that holds for every answer (spec 7, 8; spec D1, D2, D9). */
export function judge(attempt: Attempt, asked: Asked, read: Read): Verdict {
  if (typeof read === 'string' || isBare(read)) return judgeBare(attempt, read)
  const problems: string[] = []
  const expect = (holds: boolean, what: string) => void (holds || problems.push(what))
  const one = (name: string) => {
    const values = read.headers.get(name)
    if (values && values.length > 1) problems.push(`${name} came ${values.length} times`)
    return values?.[0]
  }
  const own = one('x-gateway-request-id') ?? ''
  expect(read.status < 500, `${read.status}`)
  expect(/^req_[0-9a-f]{32}$/.test(own), `X-Gateway-Request-ID is "${own}"`)
  expect(/^[A-Za-z0-9._:-]{1,128}$/.test(one('x-request-id') ?? ''), `X-Request-ID is "${one('x-request-id')}"`)
  expect(!read.headers.has('x-injected'), 'a header was injected')
  if (asked.path !== null && GATED.test(asked.path)) judgeLimits(one, expect)
  if (read.status >= 400) judgeFailure(asked, read, own, one, expect)
  else if (one('content-type') === 'application/json' && read.body !== '') expect(isJson(read.body), 'not JSON')
  const isStreamed = asked.path === RESEARCH && one('content-type')?.startsWith('text/event-stream') === true
  const cost = isStreamed ? costAtEnd(read.body) : one('x-cost-micros-usd')
  const isPriced = asked.path !== null && PRICED.test(asked.path)
  if (isPriced && read.status === 200) {
    const isFree = read.body.startsWith('{"quote":') || one('idempotency-replayed') === 'true'
    expect(cost === (isFree ? '0' : PRICE), `a 200 says that it cost ${cost}`)
  } else if (asked.path === RESEARCH && read.status === 200)
    expect(Number(cost) % Number(PRICE) === 0, `research says that it cost ${cost}`)
  else expect(cost === undefined || cost === '0', `${read.status} says that it cost ${cost}`)
  return { outcome: String(read.status), problems, chargedMicros: Number(cost ?? 0) }
}

/** The cost in the last event of a streamed job. */
function costAtEnd(events: string): string | undefined {
  return /"cost_micros_usd":(\d+)/.exec(events)?.[1]
}

type One = (name: string) => string | undefined
type Expect = (holds: boolean, what: string) => void

function isBare({ headers, body }: Answer): boolean {
  return body === '' && [...headers.keys()].every((name) => name === 'connection')
}

function judgeBare({ bare }: Attempt, read: Read): Verdict {
  const got = typeof read === 'string' ? read : read.status
  const allowed: readonly (number | string)[] = bare === null ? [] : BARE_ANSWERS[bare]
  const problems = allowed.includes(got) ? [] : [`${got} instead of an answer of ours`]
  return { outcome: typeof got === 'number' ? `${got} by Bun` : got, problems, chargedMicros: 0 }
}

function judgeLimits(one: One, expect: Expect): void {
  for (const name of LIMIT_HEADERS) expect(/^\d{1,15}$/.test(one(name) ?? ''), `${name} is "${one(name)}"`)
  const now = Math.floor(Date.now() / 1000)
  for (const name of RESETS) {
    const reset = Number(one(name))
    expect(reset >= now - 20 && reset <= now + 61, `${name} is "${one(name)}" at ${now}`)
  }
  for (const what of ['requests', 'tokens', 'concurrency'])
    expect(
      Number(one(`x-ratelimit-remaining-${what}`)) <= Number(one(`x-ratelimit-limit-${what}`)),
      `more ${what} remain than there are`,
    )
}

function judgeFailure(asked: Asked, { status, body }: Answer, own: string, one: One, expect: Expect): void {
  const types = status === 402 ? ['application/json', 'application/problem+json'] : ['application/json']
  expect(types.includes(one('content-type') ?? ''), `a ${status} is of type ${one('content-type')}`)
  expect(one('cache-control') === 'no-store', `a ${status} may be cached`)
  if (status === 405) expect(/^[A-Z]+(, [A-Z]+)*$/.test(one('allow') ?? ''), `a 405 allows "${one('allow')}"`)
  if (status === 429) expect(Number(one('retry-after')) >= 1, `a 429 says Retry-After "${one('retry-after')}"`)
  if (status === 402) expect(one('www-authenticate') !== undefined, 'a 402 has no WWW-Authenticate')
  if (asked.method === 'HEAD') return
  const { type, code, message, request_id, rest } = errorOf(asked.path ?? '', body)
  if (status === 400 && request_id === undefined && MODELS.test(asked.path ?? '')) {
    expect(/^sandbox\/\w+ /.test(String(message)), `a vendor's error without request_id says "${message}"`)
    return
  }
  expect(request_id === own, `error.request_id is ${JSON.stringify(request_id)}`)
  expect(typeof message === 'string' && message.length > 0 && message.length < 1000, `error.message is ${message}`)
  expect(!INSIDE.test(String(message)), `error.message tells "${message}"`)
  expect(
    rest.every((name) => MEMBERS.has(name)),
    `error has ${rest.join()}`,
  )
  if (asked.path?.startsWith('/api/auth')) {
    expect(typeof type === 'string' && /^[a-z][a-z0-9_]*$/.test(String(code)), `error is ${type} ${code}`)
    return
  }
  const row = Object.hasOwn(FAILURES, String(code)) ? FAILURES[code as keyof typeof FAILURES] : null
  expect(row?.status === status && row.type === type, `${status} is ${type} ${code}`)
  if (status === 405)
    expect(!one('allow')?.split(', ').includes(asked.method), `405 allows the ${asked.method} it refuses`)
}

/** `error` of the one shape, or of the two shapes of other vendors' SDKs (spec D2). */
function errorOf(path: string, body: string) {
  const parsed = parse(body)
  const error = Object(Reflect.get(Object(parsed), 'error'))
  const { type, code, message, request_id, details } = error
  const rest = [...Object.keys(Object(parsed)).filter((name) => name !== 'error'), ...Object.keys(error)]
  if (path === '/v1/messages') return { type, code, message, request_id, rest: rest.slice(1) }
  if (!path.startsWith('/v1beta/')) return { type, code, message, request_id, rest }
  return { type, code: details?.[0]?.reason, message, request_id, rest: rest.filter((name) => name !== 'status') }
}

function parse(body: string): unknown {
  try {
    return JSON.parse(Buffer.from(body, 'latin1').toString('utf8'))
  } catch {
    return null
  }
}

function isJson(body: string): boolean {
  return body === 'null' || parse(body) !== null
}
