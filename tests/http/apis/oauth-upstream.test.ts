import { afterEach, describe, expect, spyOn, test } from 'bun:test'
import type { Api, ApiOperation } from '../../../server/core/apis/api'
import { type ApiGateway, openApiGateway, type UpstreamCall } from '../../support/api-upstream'
import { anOperation, listing } from '../../support/apis'

let gateway: ApiGateway | null = null
afterEach(async () => {
  await gateway?.close()
  gateway = null
})

const PATH = '/apis/v1/weather/v1/forecast'
const CLIENT_SECRET = 'client secret: 100%+'
type Granting = (call: UpstreamCall, count: number) => Response

/** A gateway whose upstream accepts `token-N` only, N being the number of the last token that its endpoint gave. */
async function withTokens({
  grant = (_, count) => Response.json({ access_token: `token-${count}`, token_type: 'Bearer', expires_in: 3600 }),
  accepts = () => true,
  operation = {},
}: {
  grant?: Granting
  accepts?: (token: string) => boolean
  operation?: Partial<ApiOperation>
} = {}) {
  const asked: UpstreamCall[] = []
  const tokens: string[] = []
  const answer = (call: UpstreamCall) => {
    if (call.target === '/token') return grant(call, asked.push(call))
    const token = call.headers['authorization'] ?? ''
    tokens.push(token)
    return accepts(token) ? Response.json({ sun: true }) : Response.json({}, { status: 401 })
  }
  gateway = await openApiGateway({}, { answer, env: { UPSTREAM_KEY: CLIENT_SECRET } })
  const { upstream, sell, account, key: makeKey, as, clock } = gateway
  const auth: Api['auth'] = {
    kind: 'oauth2',
    tokenUrl: `${upstream.url}/token`,
    clientId: 'client:1',
    scope: 'read weather',
    secret: { from: 'environment', name: 'UPSTREAM_KEY' },
  }
  sell({ auth, operations: [anOperation(operation)] })
  const key = await makeKey(await account(5), listing([operation]))
  const call = (init: RequestInit = {}) => as(key, PATH, { method: operation.method ?? 'GET', ...init })
  return { asked, tokens, call, clock, upstream, sell, auth }
}

describe('an upstream with OAuth client credentials', () => {
  test('gets a token, which is fetched once for calls at the same time and kept until shortly before it expires', async () => {
    const { asked, tokens, call, clock } = await withTokens()
    const answers = await Promise.all(Array.from({ length: 8 }, () => call()))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(new Set(tokens)).toEqual(new Set(['Bearer token-1']))
    expect(asked.length).toBe(1)
    const [request] = asked
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toMatchObject({
      grant_type: 'client_credentials',
      scope: 'read weather',
    })
    expect(request?.headers['authorization']).toStartWith('Basic ')
    clock.advance(3_569_000)
    await call()
    expect(tokens.at(-1)).toBe('Bearer token-1')
    clock.advance(2000)
    await call()
    expect([tokens.at(-1), asked.length]).toEqual(['Bearer token-2', 2])
  })

  test('that refuses a token gets a read once more, with a new one; never twice', async () => {
    let revoked = ''
    const { asked, tokens, call, clock } = await withTokens({ accepts: (token) => token !== revoked })
    await call()
    clock.advance(60_000)
    revoked = 'Bearer token-1'
    expect((await call()).status).toBe(200)
    expect([tokens.length, asked.length]).toEqual([3, 2])
    // The newest token is refused as well: neither the upstream nor the token endpoint is asked again and again.
    revoked = 'Bearer token-2'
    expect((await call()).status).toBe(503)
    expect([tokens.length, asked.length]).toEqual([4, 2])
  })

  test('that refuses the token of a write gets it once', async () => {
    const { asked, tokens, call, clock } = await withTokens({
      accepts: () => false,
      operation: { method: 'POST', effect: 'write' },
    })
    await call()
    clock.advance(60_000)
    expect((await call()).status).toBe(503)
    expect([tokens.length, asked.length]).toEqual([2, 1])
  })

  test.each<[string, Granting]>([
    ['refuses', () => Response.json({ error: 'invalid_client' }, { status: 401 })],
    ['redirects', () => Response.redirect('http://127.0.0.1:1/')],
    ['answers nonsense', () => new Response(`<p>${CLIENT_SECRET}</p>`, { headers: { 'content-type': 'text/html' } })],
    ['gives a token that breaks headers', () => Response.json({ access_token: 'a\r\nb: c', token_type: 'Bearer' })],
  ])('whose token endpoint %s is not asked, and the endpoint only again after a pause', async (_, grant) => {
    const written = [spyOn(process.stdout, 'write'), spyOn(process.stderr, 'write'), spyOn(console, 'warn')]
    const { asked, tokens, call, clock } = await withTokens({ grant })
    expect([(await call()).status, (await call()).status]).toEqual([503, 503])
    expect([tokens.length, asked.length]).toEqual([0, 1])
    if (_ !== 'gives a token that breaks headers') {
      clock.advance(11_000)
      await call()
      expect(asked.length).toBe(2)
    }
    expect(JSON.stringify(written.map(({ mock }) => mock.calls))).not.toContain(CLIENT_SECRET)
    for (const spy of written) spy.mockRestore()
  })

  test.each(['token-1', CLIENT_SECRET])('that shows %s to its caller is a 502', async (secret) => {
    const { upstream, call } = await withTokens()
    const granted = () => Response.json({ access_token: 'token-1', token_type: 'Bearer' })
    upstream.answers(({ target }) => (target === '/token' ? granted() : Response.json({ echo: secret })))
    const answer = await call()
    expect(answer.status).toBe(502)
    expect(await answer.text()).not.toContain(secret)
  })

  test('gets another token when its client or scope changes', async () => {
    const { asked, tokens, call, sell, auth } = await withTokens()
    await call()
    sell({ auth: { ...auth, scope: 'write' } as Api['auth'], operations: [anOperation({})] })
    await call()
    expect([tokens, asked.length]).toEqual([['Bearer token-1', 'Bearer token-2'], 2])
  })
})
