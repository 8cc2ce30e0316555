import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openFile } from '../support/databases/database-file'
import { freePort } from '../support/servers/free-port'
import {
  dataFolder,
  removeFolder,
  type ServerProcess,
  SOURCE,
  signUp,
  startServer,
} from '../support/servers/server-process'
import { until } from '../support/until'

const SECRET_KEY = 'a needle of the operator: its secret key, 32 bytes and more'
const METRICS_TOKEN = 'a-needle-that-only-prometheus-and-its-operator-know'
const COLLECTOR_TOKEN = 'a-needle-that-the-collector-asks-for'
const PASSWORD = 'the first password of the owner'
const OTHER_PASSWORDS = ['a wrong password that someone typed', 'the new password of the owner', 'short']
const SEARCH = '/apis/v1/websearch/images/search?q=card'
const JSON_TYPE = { 'content-type': 'application/json' }

async function metricsOf(port: number): Promise<string> {
  const own = await fetch(`http://127.0.0.1:${port}/metrics`)
  expect(own.status).toBe(200)
  return own.text()
}

/** A service that is used and misused in many ways; then every place that could keep a secret is searched for it. */
describe('secrets are shown once and stored nowhere (spec 5.4, spec D3)', () => {
  let folder = ''
  let server: ServerProcess
  /** By what they are. */
  const secrets = new Map<string, string>([
    ['SECRET_KEY', SECRET_KEY],
    ['METRICS_TOKEN', METRICS_TOKEN],
    ['the token of the collector', COLLECTOR_TOKEN],
    ['the password', PASSWORD],
    ...OTHER_PASSWORDS.filter((word) => word.length > 8).map((word): [string, string] => [word, word]),
  ])
  const keySecrets: string[] = []
  const bodies: string[] = []
  const statuses = new Set<number>()
  const responseHeaders: string[] = []
  const places = new Map<string, Buffer>()

  const remember = (name: string, cookie: string) => {
    const value = cookie.slice(cookie.indexOf('=') + 1)
    secrets.set(`the session cookie of ${name}`, value)
    const signature = decodeURIComponent(value).split('.')[1] ?? ''
    expect(signature.length).toBeGreaterThan(20)
    secrets.set(`the signature of the session cookie of ${name}`, signature)
    secrets.set(`the encoded signature of the session cookie of ${name}`, value.split('.')[1] ?? '')
  }
  const say = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(server.url + path, init)
    const body = await answer.text()
    statuses.add(answer.status)
    bodies.push(body)
    responseHeaders.push(JSON.stringify([...answer.headers].filter(([name]) => name !== 'set-cookie')))
    return { status: answer.status, body }
  }
  const post = (path: string, body: unknown, headers: Record<string, string> = {}, method = 'POST') =>
    say(path, { method, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) })

  const traces: string[] = []
  const collector = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      traces.push(await request.text())
      return Response.json({})
    },
  })

  beforeAll(async () => {
    folder = await dataFolder()
    const metricsPort = await freePort()
    const env = {
      SECRET_KEY,
      METRICS_TOKEN,
      METRICS_PORT: String(metricsPort),
      LOG_LEVEL: 'debug',
      LOG_FORMAT: 'json',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${COLLECTOR_TOKEN}`,
    }
    // The stored form of a password is a subject here.
    server = await startServer(folder, env, SOURCE)
    const owner = await signUp(server.url, 'ada@example.com', PASSWORD)
    const other = await signUp(server.url, 'bob@example.com', PASSWORD)
    remember('ada', owner.cookie)
    remember('bob', other.cookie)
    const own = { cookie: owner.cookie }
    const made = async (answer: Promise<{ key: { id: string }; secret: string }>) => {
      const { key, secret } = await answer
      keySecrets.push(secret)
      return { id: key.id, secret, bearer: { authorization: `Bearer ${secret}` } }
    }
    const first = await made(owner.api('/api/keys', { name: 'first' }))
    const spent = await made(owner.api('/api/keys', { name: 'spent', spending_limit: 0.005 }))
    const rotated = await made(owner.api(`/api/keys/${first.id}/rotate`, { grace_period_seconds: 0 }))
    const foreign = await made(other.api('/api/keys', { name: 'foreign', allowed_ips: ['10.0.0.1'] }))
    const disabled = await made(owner.api('/api/keys', { name: 'disabled' }))
    await post(`/api/keys/${disabled.id}/disable`, {}, own)
    await keysGoWhereTheyShould()
    await keysGoWhereTheyShouldNot()
    await passwordsGoWrong()
    await pagesAreRead()
    places.set('the metrics', Buffer.from(await metricsOf(metricsPort)))
    await until(() => traces.join().includes('image-search'))
    // Killed, so that the write-ahead log stays as it is.
    await server.kill('SIGKILL')
    for (const name of await readdir(folder, { recursive: true }))
      if ((await stat(join(folder, name))).isFile())
        places.set(`the file ${name}`, Buffer.concat([Buffer.from(name), await readFile(join(folder, name))]))
    places.set('the log', Buffer.from(server.output()))
    places.set('the traces', Buffer.from(traces.join('\n')))
    places.set('the bodies', Buffer.from(bodies.join('\n')))
    places.set('the headers', Buffer.from(responseHeaders.join('\n')))

    async function keysGoWhereTheyShould() {
      for (const { bearer } of [first, spent, spent, rotated, foreign, disabled]) await say(SEARCH, { headers: bearer })
      for (const path of ['/v1/usage', '/v1/credits/balance', '/v1/usage/nothing', '/v1/nothing'])
        await say(path, { headers: rotated.bearer })
      for (const path of ['/api/keys', `/api/keys/${rotated.id}`, '/api/requests', '/api/usage.csv', '/api/limits'])
        await say(path, { headers: own })
      await say('/api/auth/get-session', { headers: { cookie: 'better-auth.session_token=forged' } })
    }

    /** A caller's mistakes: a secret in a query, a header, a body, a path, an id. */
    async function keysGoWhereTheyShouldNot() {
      const { secret } = rotated
      await say(`${SEARCH}&api_key=${secret}`)
      await say(SEARCH, { headers: { authorization: secret } })
      await say(SEARCH, { headers: { authorization: `Basic ${btoa(`${secret}:`)}` } })
      await say(SEARCH, { headers: { ...rotated.bearer, 'x-api-key': secret, 'x-goog-api-key': secret } })
      await say('/v1/messages', { method: 'POST', headers: { 'x-api-key': secret } })
      for (const path of ['/v1beta/models', '/v1beta/nothing', '/v1/models', '/nothing'])
        await say(`${path}?key=${secret}`)
      await post(`/v1beta/models/sandbox/echo:generateContent?key=${secret}`, {
        contents: [{ parts: [{ text: 'Hi' }] }],
      })
      await say(`/v1beta/models?key=${secret}`, { headers: foreign.bearer })
      await post('/apis/v1/websearch/llm/context', { q: 'card' }, { authorization: `Bearer ${secret}x` })
      await post('/api/keys', { name: 'first' }, { ...own, authorization: `Bearer ${secret}` })
      await say(`/v1/usage/${secret}`, { headers: rotated.bearer })
      await say(`/api/keys/${secret}`, { headers: own })
    }

    async function passwordsGoWrong() {
      const [wrong, renewed, short] = OTHER_PASSWORDS
      const email = 'ada@example.com'
      await post('/api/auth/sign-in/email', { email, password: wrong })
      await post('/api/auth/sign-in/email', { email: 'nobody@example.com', password: wrong })
      await post('/api/auth/sign-up/email', { name: 'Eve', email, password: wrong })
      await post('/api/auth/sign-up/email', { name: 'Eve', email: 'no mail', password: wrong })
      await post('/api/auth/sign-up/email', { name: 'Eve', email: 'eve@example.com', password: short })
      await post('/api/auth/sign-up/email', { name: 7, email: 'eve@example.com', password: wrong })
      await post('/api/auth/sign-up/email', { email, password: { $ne: PASSWORD } })
      await say('/api/auth/sign-in/email', { method: 'POST', headers: JSON_TYPE, body: `{"password":"${PASSWORD}` })
      await post('/api/auth/change-password', { currentPassword: wrong, newPassword: renewed }, own)
      await post('/api/auth/change-password', { currentPassword: PASSWORD, newPassword: renewed }, own)
      await post('/api/account/operator', { token: 'guess' }, { cookie: other.cookie })
    }

    async function pagesAreRead() {
      for (const path of ['/', '/keys', '/docs', '/openapi.json', '/llms.txt', '/index.html', '/health', '/ready'])
        await say(path, { headers: { ...own, ...rotated.bearer } })
    }
  })
  afterAll(async () => {
    await collector.stop(true)
    await removeFolder(folder)
  })

  test('every line of the log is one JSON object, from the first on', () => {
    const lines = server.output().trim().split('\n')
    expect(lines.length).toBeGreaterThan(10)
    const all = lines.map((line) => JSON.parse(line))
    for (const { time, level, message } of all)
      expect([typeof time, typeof level, typeof message]).toEqual(Array(3).fill('string'))
    expect(all.some(({ message }) => message === 'call refused')).toBe(true)
  })

  test('the run reached every place it was meant to', () => {
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 401, 402, 403, 404, 422]))
    expect(bodies.some((body) => body.startsWith('<!doctype html>'))).toBe(true)
    expect(keySecrets).toHaveLength(5)
    expect(places.get('the metrics')?.toString()).toContain('code="invalid_api_key"')
    expect(places.get('the traces')?.toString()).toContain('invalid_api_key')
  })

  test('no key, password, cookie or SECRET_KEY in any log line, body, header, page, file or file name', () => {
    const needles = new Map(secrets)
    for (const [i, secret] of keySecrets.entries()) {
      needles.set(`key ${i}`, secret)
      // The part that is random: what is shown of a key is its prefix and its last four.
      needles.set(`the inside of key ${i}`, secret.slice(12, -4))
      needles.set(`the base64 of key ${i}`, btoa(secret).slice(0, -4))
    }
    expect([...places.keys()]).toEqual(
      expect.arrayContaining(['the file gateway.db', 'the file gateway.db-wal', 'the file search.db', 'the log']),
    )
    const found: string[] = []
    for (const [place, bytes] of places)
      for (const [name, secret] of needles) if (bytes.includes(secret)) found.push(`${name} in ${place}`)
    expect(found).toEqual([])
  })

  test('the search would find a secret: the hashes of the keys are found', async () => {
    const client = openFile(join(folder, 'gateway.db'))
    try {
      const { rows } = await client.execute('SELECT * FROM keys')
      const columns = rows.map((row) => JSON.stringify(Object.values(row).map((value) => hexOf(value))))
      for (const secret of keySecrets) {
        const hash = createHash('sha256').update(secret).digest('hex')
        expect(columns.filter((text) => text.includes(hash))).toHaveLength(1)
      }
      const passwords = await client.execute('SELECT password FROM identity_account')
      for (const { password } of passwords.rows) expect(String(password)).toMatch(/^[0-9a-f]{32}:[0-9a-f]{128}$/)
    } finally {
      client.close()
    }
  })
})

function hexOf(value: unknown): string {
  return value instanceof ArrayBuffer ? Buffer.from(value).toString('hex') : String(value)
}
