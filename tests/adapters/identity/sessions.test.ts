import { afterAll, describe, expect, test } from 'bun:test'
import { cookieOf, errorOf, newUser, ORIGIN, openBench, PASSWORD } from './identity-bench'

const bench = await openBench()
afterAll(() => bench[Symbol.asyncDispose]())
const { identity, post, get } = bench

describe('sign-up', () => {
  test('creates a user and a session at once, and calls onSignUp once with the real address', async () => {
    const response = await post('/sign-up/email', newUser('Ada@Example.com'), { address: '2001:db8::7' })
    expect(response.status).toBe(200)
    const session = await identity.session(new Headers({ cookie: cookieOf(response) }))
    expect(session).toMatchObject({ email: 'ada@example.com', name: 'Ada' })
    expect(Math.abs((session?.sessionCreatedAt ?? 0) - Date.now())).toBeLessThan(10_000)
    expect(bench.signUps).toMatchObject([
      { id: session!.userId, email: 'ada@example.com', name: 'Ada', address: '2001:db8::7' },
    ])
    expect(await identity.user(session!.userId)).toEqual({ id: session!.userId, email: 'ada@example.com', name: 'Ada' })
  })

  test('hides the cookie from scripts and from other sites', async () => {
    const response = await post('/sign-up/email', newUser('cookie@example.com'))
    const cookie = response.headers.getSetCookie().find((line) => line.startsWith('better-auth.session_token='))
    expect(cookie).toMatch(/HttpOnly/i)
    expect(cookie).toMatch(/SameSite=Lax/i)
    expect(cookie).toMatch(/Path=\//i)
    expect(cookie).toContain(`Max-Age=${7 * 24 * 60 * 60}`)
    expect(cookie).not.toMatch(/Secure/i)
  })

  test('refuses a known address, without calling onSignUp again', async () => {
    await post('/sign-up/email', newUser('twice@example.com'))
    const before = bench.signUps.length
    expect(await errorOf(await post('/sign-up/email', newUser('TWICE@example.com')))).toMatchObject({
      status: 422,
      type: 'invalid_request_error',
      code: 'user_already_exists',
    })
    expect(bench.signUps.length).toBe(before)
  })

  test('with one address, sent concurrently, creates one user', async () => {
    const before = bench.signUps.length
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => post('/sign-up/email', newUser('race@example.com'))),
    )
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 422, 422, 422])
    const losers = await Promise.all(answers.filter((answer) => answer.status === 422).map(errorOf))
    expect(new Set(losers.map((loser) => loser['code']))).toEqual(new Set(['user_already_exists']))
    expect(bench.signUps.length).toBe(before + 1)
    const sessions = await bench.client.execute(
      "SELECT count(*) AS n FROM identity_session s JOIN identity_user u ON u.id = s.user_id WHERE u.email = 'race@example.com'",
    )
    expect(sessions.rows[0]?.['n']).toBe(1)
  })

  test.each([
    ['a password of 11 characters', { password: 'x'.repeat(11) }, 'password_too_short'],
    ['a password of 257 characters', { password: 'x'.repeat(257) }, 'password_too_long'],
    ['a word that is no email', { email: 'ada' }, 'validation_error'],
    ['an email of 300 characters', { email: `${'a'.repeat(290)}@example.com` }, 'invalid_email'],
    ['a name of 201 characters', { name: 'x'.repeat(201) }, 'invalid_name'],
    ['a picture', { image: 'https://example.com/a.png' }, 'field_not_allowed'],
    ['no name', { name: undefined }, 'validation_error'],
  ])('refuses %s', async (_what, change, code) => {
    const answer = await post('/sign-up/email', { ...newUser('bad@example.com'), ...change })
    expect(await errorOf(answer)).toMatchObject({ status: 400, type: 'invalid_request_error', code })
  })

  test('succeeds when onSignUp fails, and the failure is reported without its secrets', async () => {
    await using own = await openBench({
      onSignUp: () =>
        Promise.reject(new Error('Failed query: insert params: hunter2', { cause: new Error('database is locked') })),
    })
    const response = await own.post('/sign-up/email', newUser('left@example.com'))
    expect(response.status).toBe(200)
    expect(own.faults).toEqual([{ requestId: 'req_1', reason: 'sign-up hook: Error: database is locked' }])
  })
})

describe('a sign-up interrupted between its two writes', () => {
  const die = "CREATE TRIGGER die BEFORE INSERT ON identity_account BEGIN SELECT raise(ABORT, 'died'); END"

  test('is a 500 without a session or onSignUp, and the email can sign up again shortly after', async () => {
    await using own = await openBench()
    await own.client.execute(die)
    expect((await own.post('/sign-up/email', newUser('half@example.com'))).status).toBe(500)
    expect(own.signUps).toEqual([])
    expect((await own.client.execute('SELECT * FROM identity_session')).rows).toEqual([])
    await own.client.execute('DROP TRIGGER die')
    await own.client.execute({ sql: 'UPDATE identity_user SET created_at = ?', args: [Date.now() - 11_000] })
    expect((await own.post('/sign-up/email', newUser('Half@example.com'))).status).toBe(200)
    expect(own.signUps).toHaveLength(1)
  })

  test('does not let anyone take over a user that is complete, or still being created', async () => {
    await using own = await openBench()
    await own.post('/sign-up/email', newUser('whole@example.com'))
    await own.client.execute({ sql: 'UPDATE identity_user SET created_at = ?', args: [1] })
    await own.client.execute(die)
    await own.post('/sign-up/email', newUser('young@example.com'))
    for (const email of ['whole@example.com', 'young@example.com']) {
      expect(await errorOf(await own.post('/sign-up/email', newUser(email)))).toMatchObject({
        status: 422,
        code: 'user_already_exists',
      })
    }
    expect((await own.client.execute('SELECT * FROM identity_user')).rows).toHaveLength(2)
  })
})

describe('sign-in', () => {
  test('compares passwords by scrypt, of which only the hash is stored', async () => {
    await using own = await openBench({ passwordHash: undefined })
    await own.post('/sign-up/email', newUser('scrypt@example.com'))
    const stored = await own.client.execute('SELECT password FROM identity_account')
    expect(String(stored.rows[0]?.['password'])).toMatch(/^[0-9a-f]{32}:[0-9a-f]{128}$/)
    const status = async (password: string) =>
      (await own.post('/sign-in/email', { email: 'scrypt@example.com', password })).status
    expect([await status(PASSWORD), await status('wrong wrong wrong')]).toEqual([200, 401])
  })

  test('answers a wrong password and an unknown address identically', async () => {
    await post('/sign-up/email', newUser('known@example.com'))
    const wrong = await errorOf(
      await post('/sign-in/email', { email: 'known@example.com', password: 'wrong wrong wrong' }),
    )
    const unknown = await errorOf(await post('/sign-in/email', { email: 'nobody@example.com', password: PASSWORD }))
    expect(wrong).toMatchObject({ status: 401, type: 'authentication_error', code: 'invalid_email_or_password' })
    expect({ ...unknown, request_id: null }).toEqual({ ...wrong, request_id: null })
  })

  test('creates a new session each time; the older one stays valid', async () => {
    const first = await post('/sign-up/email', newUser('two@example.com'))
    const second = await post('/sign-in/email', { email: 'two@example.com', password: PASSWORD })
    expect(second.status).toBe(200)
    expect(cookieOf(second)).not.toBe(cookieOf(first))
    for (const response of [first, second]) {
      expect(await identity.session(new Headers({ cookie: cookieOf(response) }))).not.toBeNull()
    }
  })

  test('in the same browser replaces the previous session of any account; a wrong password does not', async () => {
    const [ada, bob] = ['again@example.com', 'bob-again@example.com']
    const elsewhere = cookieOf(await post('/sign-up/email', newUser(ada)))
    await post('/sign-up/email', newUser(bob))
    const first = cookieOf(await post('/sign-in/email', { email: ada, password: PASSWORD }))
    const lives = async (cookie: string) => (await identity.session(new Headers({ cookie }))) !== null
    const signIn = (email: string, password: string, cookie: string) =>
      post('/sign-in/email', { email, password }, { headers: { cookie } })
    expect((await signIn(ada, 'wrong wrong wrong', first)).status).toBe(401)
    expect(await lives(first)).toBe(true)
    const second = cookieOf(await signIn(ada, PASSWORD, first))
    expect([await lives(first), await lives(second), await lives(elsewhere)]).toEqual([false, true, true])
    const third = cookieOf(await signIn(bob, PASSWORD, second))
    expect([await lives(second), await lives(third), await lives(elsewhere)]).toEqual([false, true, true])
  })

  test('ignores a planted session cookie', async () => {
    const planted = 'better-auth.session_token=planted.signature'
    const response = await post(
      '/sign-in/email',
      { email: 'two@example.com', password: PASSWORD },
      { headers: { cookie: planted } },
    )
    expect(response.status).toBe(200)
    expect(cookieOf(response)).not.toContain('planted')
  })
})

describe('session', () => {
  test('is null without a cookie, with a forged one, and with the bare token of the database', async () => {
    await post('/sign-up/email', newUser('forge@example.com'))
    const row = await bench.client.execute('SELECT token FROM identity_session LIMIT 1')
    const token = String(row.rows[0]?.['token'])
    for (const cookie of ['', 'better-auth.session_token=x.y', `better-auth.session_token=${token}`]) {
      expect(await identity.session(new Headers({ cookie }))).toBeNull()
    }
    expect(await identity.session(new Headers({ authorization: `Bearer ${token}` }))).toBeNull()
  })

  test('ends a week after the sign-in; using it does not extend it', async () => {
    const cookie = cookieOf(await post('/sign-up/email', newUser('week@example.com')))
    const ends = async () => {
      const sql =
        "SELECT s.expires_at AS ends FROM identity_session s JOIN identity_user u ON u.id = s.user_id WHERE u.email = 'week@example.com'"
      return Number((await bench.client.execute(sql)).rows[0]?.['ends'])
    }
    // As on the third day, when the library would begin to renew it.
    await bench.client.execute({
      sql: "UPDATE identity_session SET expires_at = expires_at - ? WHERE user_id = (SELECT id FROM identity_user WHERE email = 'week@example.com')",
      args: [(await ends()) > 1e11 ? 3 * 86_400_000 : 3 * 86_400],
    })
    const before = await ends()
    const read = await get('/get-session', { headers: { cookie } })
    expect(read.status).toBe(200)
    expect(read.headers.getSetCookie().filter((line) => line.includes('session_token'))).toEqual([])
    expect(await identity.session(new Headers({ cookie }))).not.toBeNull()
    expect(await ends()).toBe(before)
  })

  test('is read without a write, and an expired one is null', async () => {
    const cookie = cookieOf(await post('/sign-up/email', newUser('ended@example.com')))
    const { userId } = (await identity.session(new Headers({ cookie })))!
    const twoDays = Date.now() + 2 * 24 * 60 * 60 * 1000
    await bench.client.execute({
      sql: 'UPDATE identity_session SET expires_at = ? WHERE user_id = ?',
      args: [twoDays, userId],
    })
    await identity.session(new Headers({ cookie }))
    const row = await bench.client.execute({
      sql: 'SELECT expires_at FROM identity_session WHERE user_id = ?',
      args: [userId],
    })
    expect(row.rows[0]?.['expires_at']).toBe(twoDays)
    await bench.client.execute({ sql: 'UPDATE identity_session SET expires_at = 1 WHERE user_id = ?', args: [userId] })
    expect(await identity.session(new Headers({ cookie }))).toBeNull()
  })

  test('throws, instead of returning null, when the database does not respond', async () => {
    await using own = await openBench()
    const cookie = cookieOf(await own.post('/sign-up/email', newUser('down@example.com')))
    await own.client.execute('ALTER TABLE identity_session RENAME TO gone')
    const failure = await identitySessionFailure(own, cookie)
    expect(failure).toContain('no such table')
    expect(failure).not.toContain(cookie.slice(30, 50))
  })

  test('is shown and listed only to its owner', async () => {
    const cookie = cookieOf(await post('/sign-up/email', newUser('list@example.com')))
    expect(await (await get('/get-session', { headers: { cookie } })).json()).toMatchObject({
      user: { email: 'list@example.com' },
    })
    expect((await get('/list-sessions', { headers: { cookie } })).status).toBe(200)
    expect(await errorOf(await get('/list-sessions'))).toMatchObject({ status: 401, code: 'missing_session' })
  })
})

async function identitySessionFailure(own: typeof bench, cookie: string): Promise<string> {
  return own.identity.session(new Headers({ cookie })).then(
    () => 'no failure',
    (error: Error) => error.message,
  )
}

describe('sign-out', () => {
  test('ends the session, not only the cookie', async () => {
    const cookie = cookieOf(await post('/sign-up/email', newUser('out@example.com')))
    const response = await post('/sign-out', undefined, { headers: { cookie } })
    expect(response.status).toBe(200)
    expect(response.headers.getSetCookie().join()).toContain('Max-Age=0')
    expect(await identity.session(new Headers({ cookie }))).toBeNull()
  })

  test('is a 500, never a success, when the session could not be deleted', async () => {
    await using own = await openBench()
    const cookie = cookieOf(await own.post('/sign-up/email', newUser('stuck@example.com')))
    await own.client.execute(
      "CREATE TRIGGER stuck BEFORE DELETE ON identity_session BEGIN SELECT raise(ABORT, 'disk'); END",
    )
    expect(await errorOf(await own.post('/sign-out', {}, { headers: { cookie } }))).toMatchObject({
      status: 500,
      code: 'internal_error',
    })
    expect(own.faults).toHaveLength(1)
  })
})

describe('a password change', () => {
  test('ends all other sessions, even when the caller asks to keep them', async () => {
    const old = cookieOf(await post('/sign-up/email', newUser('change@example.com')))
    const here = cookieOf(await post('/sign-in/email', { email: 'change@example.com', password: PASSWORD }))
    const response = await post(
      '/change-password',
      { currentPassword: PASSWORD, newPassword: 'another long password', revokeOtherSessions: false },
      { headers: { cookie: here, origin: ORIGIN } },
    )
    expect(response.status).toBe(200)
    for (const cookie of [old, here]) expect(await identity.session(new Headers({ cookie }))).toBeNull()
    expect(await identity.session(new Headers({ cookie: cookieOf(response) }))).not.toBeNull()
  })

  test('is refused with a wrong current password', async () => {
    const cookie = cookieOf(await post('/sign-up/email', newUser('guess@example.com')))
    const answer = await post(
      '/change-password',
      { currentPassword: 'no no no no no', newPassword: 'another long password' },
      { headers: { cookie } },
    )
    expect(await errorOf(answer)).toMatchObject({ status: 400, code: 'invalid_password' })
    expect(await identity.session(new Headers({ cookie }))).not.toBeNull()
  })
})

describe('a name change', () => {
  test('is saved if the name is a string, and refused otherwise', async () => {
    const cookie = cookieOf(await post('/sign-up/email', newUser('name@example.com')))
    expect((await post('/update-user', { name: 'Grace' }, { headers: { cookie } })).status).toBe(200)
    expect(await identity.session(new Headers({ cookie }))).toMatchObject({ name: 'Grace' })
    for (const name of [7, null, { a: 1 }, 'x'.repeat(201)]) {
      expect(await errorOf(await post('/update-user', { name }, { headers: { cookie } }))).toMatchObject({
        status: 400,
        code: 'invalid_name',
      })
    }
  })
})
