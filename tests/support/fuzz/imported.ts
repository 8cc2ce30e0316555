import {
  API_METHODS,
  type Api,
  type ApiOperation,
  type ApiParameter,
  type DataSchema,
} from '../../../server/core/apis/api'
import { micros } from '../../../server/core/money'
import { openApiGateway } from '../api-upstream'
import { anOperation, listing } from '../apis'
import { HOSTILE_TEXT } from './hostile'
import { Random } from './random'

const SECRET = 'upstream-secret-of-the-fuzz-run'
const PLAIN_TEXT = ['a', 'Zürich', '12', '7', 'x y', 'a,b', '1,2']
const TRICKY_TEXT = ['.', '..', '%2e%2e', 'a/b', 'a%2fb', 'admin', '1|2', '//evil.example', '@127.0.0.2']
/** Addresses of this machine where nothing may arrive. The upstream is at 127.0.0.1 and has the same port. */
const CANARIES = ['127.0.0.2', '127.0.0.3', '127.1.1.1', '127.255.255.254']

export interface ImportedFuzzReport {
  readonly sent: number
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>
  /** The broken promises, at most 20. */
  readonly problems: readonly string[]
  readonly folder: string
  readonly databaseFile: string
}

/**
 * Sends generated requests, good ones and hostile ones, to imported operations of every kind of parameter and body, and judges each answer
 * and what reached the upstream: no 5xx, no other host, path or member, no secret either way. The gateway is closed at the end and its
 * folder is left to be reconciled.
 */
export async function fuzzImported(requests: number, seed: number): Promise<ImportedFuzzReport> {
  const random = new Random(seed)
  const gateway = await openApiGateway({}, { env: { UPSTREAM_KEY: SECRET, ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1' } })
  const { upstream, as, call } = gateway
  const problems: string[] = []
  const tell = (problem: string) => problems.length < 20 && problems.push(problem)
  const canaries = CANARIES.map((hostname) =>
    Bun.serve({
      hostname,
      port: Number(new URL(upstream.url).port),
      fetch(request) {
        tell(`a canary at ${hostname} was asked for ${request.url}`)
        return new Response()
      },
    }),
  )
  const statuses: Record<string, number> = {}
  try {
    upstream.answers((got) => {
      const { authorization, cookie, 'x-forwarded-for': forwarded } = got.headers
      if (!got.target.startsWith('/base/')) tell(`the upstream was asked for ${got.target}`)
      if (authorization !== undefined || cookie !== undefined || forwarded !== undefined)
        tell('a caller header went up')
      if (got.headers['x-upstream-key'] !== SECRET) tell('the upstream credential was changed')
      // As a query or form name, a member of JSON or deepObject, or a part of a multipart form.
      if (
        /([?&]|^)(deep\[)?(admin|__proto__|constructor)\]?=|"(admin|__proto__|constructor)":|; name="(admin|__proto__|constructor)"/m.test(
          `${got.target.replace(/^[^?]*/, '')}\n${got.body}`,
        )
      )
        tell(`an undeclared member went up: ${got.target} ${got.body.slice(0, 200)}`)
      return Response.json({
        data: Array.from({ length: 7 }, (_, i) => i),
        path: new URL(`http://x${got.target}`).pathname,
      })
    })
    const operations = API_METHODS.flatMap((method, i) => [
      operation(method, `/v${i}/{p}/items/{q}.json`, `a${i}`),
      operation(method, `/w${i}`, `b${i}`),
    ])
    const auth: Api['auth'] = {
      kind: 'header',
      name: 'x-upstream-key',
      secret: { from: 'environment', name: 'UPSTREAM_KEY' },
    }
    gateway.sell({ auth, operations, concurrency: 1000 })
    const account = await gateway.account(1_000_000)
    const key = await gateway.key(account, listing(operations))
    for (let sent = 0; sent < requests; sent++) {
      upstream.calls.length = 0
      const { path, init } = attempt(random, random.pick(operations))
      let answer: Response
      try {
        answer = await (random.chance(0.98) ? as(key, path, init) : call(path, init))
      } catch (error) {
        // `Request` refuses some of what is generated, as every client library does.
        if (error instanceof TypeError) continue
        throw error
      }
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
      if (answer.status >= 500)
        tell(`${init.method} ${path.slice(0, 200)}: ${answer.status} ${(await answer.text()).slice(0, 200)}`)
      else if ((await answer.text()).includes(SECRET)) tell(`the answer to ${path.slice(0, 200)} has the secret`)
      if (upstream.calls.length > 1) tell(`${path.slice(0, 200)} went up ${upstream.calls.length} times`)
    }
    return { sent: requests, statuses, problems, folder: gateway.folder, databaseFile: gateway.databaseFile }
  } finally {
    await Promise.all(canaries.map((canary) => canary.stop(true)))
    await gateway.close(true)
  }
}

const MEMBERS: DataSchema = {
  type: 'object',
  properties: {
    v: { type: 'string', maxLength: 100 },
    n: { type: 'integer', minimum: 0, maximum: 1000 },
    list: { type: 'array', items: { type: 'string' }, maxItems: 5 },
    any: {},
  },
  unevaluatedProperties: false,
}

function operation(method: ApiOperation['method'], path: string, id: string): ApiOperation {
  const parameter = (part: Partial<ApiParameter> & Pick<ApiParameter, 'name' | 'in'>): ApiParameter => ({
    required: false,
    description: '',
    schema: { type: 'string', maxLength: 200 },
    style: 'form',
    explode: true,
    ...part,
  })
  const inPath = [...path.matchAll(/\{(\w)\}/g)].map(([, name = '']) =>
    parameter({ name, in: 'path', required: true, style: 'simple', explode: false }),
  )
  const types = ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'] as const
  return anOperation({
    id,
    method,
    path,
    effect: method === 'GET' ? 'read' : 'write',
    price: {
      mode: 'units',
      amount: micros(10),
      figure: { kind: 'pointer', pointer: '/data' },
      block: 2,
      minimum: 1,
      maximum: { parameter: 'limit' },
      onMissing: method === 'GET' ? null : 1,
    },
    parameters: [
      ...inPath,
      parameter({ name: 'limit', in: 'query', default: 9, schema: { type: 'integer', minimum: 7, maximum: 50 } }),
      parameter({ name: 'text', in: 'query' }),
      parameter({ name: 'ids', in: 'query', schema: { type: 'array', items: { type: 'integer' } }, explode: false }),
      parameter({
        name: 'pipe',
        in: 'query',
        schema: { type: 'array', items: {} },
        style: 'pipeDelimited',
        explode: false,
      }),
      parameter({ name: 'deep', in: 'query', schema: MEMBERS, style: 'deepObject' }),
      parameter({ name: 'X-Extra', in: 'header', style: 'simple', explode: false }),
    ],
    body:
      method === 'GET'
        ? null
        : { contentType: types[id.length % 1 || Number(id[1]) % 3] ?? types[0], required: false, schema: MEMBERS },
  })
}

function attempt(random: Random, { method, path, body }: ApiOperation): { path: string; init: RequestInit } {
  const text = () =>
    random.chance(0.15) ? random.pick(HOSTILE_TEXT) : random.pick(random.chance(0.8) ? PLAIN_TEXT : TRICKY_TEXT)
  const filled = path.replace(/\{\w\}/g, () => (random.chance(0.2) ? text().replace(/[?#]/g, '') : encoded(text())))
  const names = [
    'limit',
    'text',
    'ids',
    'pipe',
    'deep[v]',
    'deep[admin]',
    'deep[__proto__]',
    'admin',
    'x-upstream-key',
    '',
    'constructor',
  ]
  const pairs = Array.from({ length: random.int(0, 3) }, () => {
    const name = random.pick(names)
    const value = name === 'limit' && random.chance(0.7) ? String(random.int(5, 55)) : text()
    return random.chance(0.9) ? `${encoded(name)}=${encoded(value)}` : `${name}=${value}`
  })
  const headers: [string, string][] = [['x-extra', random.chance(0.8) ? 'plain' : text()]]
  if (random.chance(0.3)) headers.push(['cookie', 'a=b'], ['x-forwarded-for', '127.0.0.2'], ['x-upstream-key', 'mine'])
  if (random.chance(0.1)) headers.push(['idempotency-key', String(random.int(1, 50))])
  const prefix = random.chance(0.95)
    ? '/apis/v1/weather'
    : random.pick(['/apis/v1/weather/..', '/apis/v1//weather', '/apis/v1/WEATHER', '/apis/v1'])
  const init: RequestInit = { method, headers }
  if (body && random.chance(0.8))
    fillBody(random, init, headers, random.chance(0.9) ? body.contentType : 'text/plain', text)
  return { path: `${prefix}${filled}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`, init }
}

function fillBody(
  random: Random,
  init: RequestInit,
  headers: [string, string][],
  type: string,
  text: () => string,
): void {
  const members: Record<string, unknown> = { v: text(), n: random.pick([1, -1, 1001, 'x', null]) }
  if (random.chance(0.2))
    Object.defineProperty(members, random.pick(['admin', '__proto__', 'constructor']), { value: 1, enumerable: true })
  if (type === 'multipart/form-data') {
    const form = new FormData()
    for (const [name, value] of Object.entries(members)) form.append(name, String(value))
    if (random.chance(0.3)) form.append('any', new File([text()], text(), { type: 'image/png' }))
    init.body = form
    return
  }
  headers.push(['content-type', type])
  if (type === 'application/json')
    init.body = random.chance(0.9)
      ? JSON.stringify(members)
      : `{"v":"a","v":${JSON.stringify(text())},"n":12345678901234567890`
  else init.body = new URLSearchParams(Object.entries(members).map(([name, value]) => [name, String(value)])).toString()
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
