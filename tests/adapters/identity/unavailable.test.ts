import { afterAll, describe, expect, spyOn, test } from 'bun:test'
import { DatabaseError } from '../../../server/adapters/stores/libsql/driver/worker/worker-connection'
import { cookieOf, errorOf, newUser, openBench } from './identity-bench'

const FULL = { message: 'database or disk is full', code: 'SQLITE_FULL' }
const user = newUser('ada@example.com')
const callback = 'http://127.0.0.1/callback'
const bench = await openBench()
afterAll(() => bench[Symbol.asyncDispose]())
const { client, identity, post, get } = bench
await post('/sign-up/email', user)
const app = { redirect_uris: [callback], token_endpoint_auth_method: 'none' }
const { client_id: clientId } = (await (await post('/oauth2/register', app)).json()) as { client_id: string }

/** Lets the database refuse what comes after the first `left` statements while `act` runs. */
async function whileFull<T>({ left, act }: { readonly left: number; readonly act: () => Promise<T> }) {
  const { execute, batch } = client
  let [done, refused] = [0, 0]
  const refusing = <Args extends unknown[], R>(run: (...args: Args) => R) =>
    ((...args: Args) => {
      if (done++ < left) return run.apply(client, args)
      refused++
      return Promise.reject(new DatabaseError(FULL))
    }) as (...args: Args) => R
  Object.assign(client, { execute: refusing(execute), batch: refusing(batch) })
  const value = await act().finally(() => Object.assign(client, { execute, batch }))
  return { value, refused }
}

let addresses = 0
/** Each from an address of its own: the library counts attempts by address. */
const from = (cookie = '') => ({ headers: { cookie }, address: `192.0.2.${++addresses % 250}` })
const form = (path: string, fields: Record<string, string>) =>
  identity.handle(
    new Request(`http://localhost/api/auth${path}`, { method: 'POST', body: new URLSearchParams(fields) }),
    { address: null, requestId: 'req_form', isFromThisMachine: false },
  )

/** Sends a request again and again; each time the database fails one statement later. Returns the responses up to the first without a failure. */
async function refusals(send: (cookie: string) => Promise<Response>): Promise<Response[]> {
  const answers: Response[] = []
  for (let left = 0; left < 30; left++) {
    // Routes without a use for a session need none.
    const cookie = send.length > 0 ? cookieOf(await post('/sign-in/email', user, from())) : ''
    const { value, refused } = await whileFull({ left, act: () => send(cookie) })
    if (refused === 0) return answers
    answers.push(value)
  }
  return answers
}

const { email, password } = user
const PKCE = { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' }
const asked = { response_type: 'code', client_id: clientId, redirect_uri: callback, scope: 'data:read', state: 's' }

describe('while the database cannot answer, whichever statement it refuses', () => {
  test.each<[string, (cookie: string) => Promise<Response>]>([
    ['a sign-up', () => post('/sign-up/email', newUser(`${crypto.randomUUID()}@example.com`), from())],
    ['a sign-in', () => post('/sign-in/email', { email, password }, from())],
    ['a sign-in in the same browser', (cookie) => post('/sign-in/email', { email, password }, from(cookie))],
    ['a sign-out', (cookie) => post('/sign-out', {}, from(cookie))],
    ['a look at the session', (cookie) => get('/get-session', from(cookie))],
    ['a new name', (cookie) => post('/update-user', { name: 'Bob' }, from(cookie))],
    [
      'a new password',
      (cookie) => post('/change-password', { currentPassword: password, newPassword: password }, from(cookie)),
    ],
    ['a request for a new password', () => post('/request-password-reset', { email }, from())],
    ['an authenticator app', (cookie) => post('/two-factor/enable', { password }, from(cookie))],
    [
      'an app that asks the owner',
      (cookie) => get(`/oauth2/authorize?${new URLSearchParams({ ...asked, ...PKCE })}`, from(cookie)),
    ],
  ])('%s is 503 with Retry-After, and nothing is printed', async (_what, send) => {
    const printed = spyOn(console, 'error')
    const answers = await refusals(send)
    const lines = printed.mock.calls.map(String)
    printed.mockRestore()
    expect(lines).toEqual([])
    expect(answers.length).toBeGreaterThan(0)
    for (const answer of answers) {
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.headers.getSetCookie()).toEqual([])
      expect(await errorOf(answer)).toEqual({
        status: 503,
        type: 'api_error',
        code: 'service_unavailable',
        message: 'The database is not responding. Try again.',
        request_id: expect.stringMatching(/^req_/) as unknown,
        retry_after: 1,
      })
    }
    expect(JSON.stringify(bench.faults)).toContain(FULL.message)
  })

  test.each<[string, () => Promise<Response>]>([
    ['a registration', () => post('/oauth2/register', app)],
    [
      'a token',
      () =>
        form('/oauth2/token', {
          grant_type: 'authorization_code',
          code: 'x',
          client_id: clientId,
          redirect_uri: callback,
          code_verifier: 'v'.repeat(43),
        }),
    ],
    ['a code for a device', () => form('/device/code', { client_id: clientId, scope: 'data:read' })],
  ])('%s of an app is 503 temporarily_unavailable with Retry-After', async (_what, send) => {
    const answers = await refusals(send)
    expect(answers.length).toBeGreaterThan(0)
    for (const answer of answers) {
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
      expect(await answer.json()).toEqual({
        error: 'temporarily_unavailable',
        error_description: 'The database is not responding. Try again.',
      })
    }
  })

  test('nothing changes if it refuses everything', async () => {
    const cookie = cookieOf(await post('/sign-in/email', user, from()))
    const rows = async () => {
      const counts = await client.execute(
        'SELECT (SELECT count(*) FROM identity_user), (SELECT count(*) FROM identity_session), (SELECT count(*) FROM oauth_client)',
      )
      return Array.from(counts.rows[0] ?? [])
    }
    const before = await rows()
    await whileFull({
      left: 0,
      act: () =>
        Promise.all([
          post('/sign-up/email', newUser('new@example.com'), from()),
          post('/sign-in/email', user, from()),
          post('/sign-out', {}, from(cookie)),
          post('/oauth2/register', app),
        ]),
    })
    expect(await rows()).toEqual(before)
    expect((await post('/sign-up/email', newUser('new@example.com'), from())).status).toBe(200)
    expect((await post('/sign-in/email', user, from())).status).toBe(200)
    expect(await identity.session(new Headers({ cookie }))).not.toBeNull()
  })
})
