import { dataFolder, removeFolder, SOURCE, signUp, startServer } from '../support/servers/server-process'

/**
 * How long the largest inputs of callers keep everybody else waiting: `bun run bench:turns`. A probe of `/health` after another measures the turns of the
 * event loop, while one connection sends an input again and again, and, before and after it, as many harmless requests. Ends with 1 if an
 * input's longest turn takes 50 ms more than both controls in the median of the rounds.
 */
const ROUNDS = 5
const CALLS = 10
const MAX_MORE_MS = 50
const LONG = 60_000

interface Input {
  readonly name: string
  readonly path: string
  readonly body?: unknown
}

const password = () => `${'1'.repeat(30)}${crypto.randomUUID()}`
const words = Array.from({ length: LONG / 2 }, (_, i) => i % 10).join('@')
const deep = `${'['.repeat(90)}${'1,'.repeat(250_000)}1${']'.repeat(90)}`
const day = 86_400
const now = Math.floor(Date.now() / 1000)
const year = `start_time=${now - 365 * day}&end_time=${now}&bucket_width=1d&timezone=America/St_Johns`
const batch = (part: string) =>
  `/api/batch?${Array.from({ length: 24 }, () => `get=${encodeURIComponent(part)}`).join('&')}`

const INPUTS: readonly Input[] = [
  {
    name: 'sign-up, password of 256 digits',
    path: '/api/auth/sign-up/email',
    body: { name: 'Ada', email: 'a@example.com', password: '12'.repeat(128) },
  },
  {
    name: 'sign-up, 60 KB of words as name',
    path: '/api/auth/sign-up/email',
    body: { name: words, email: 'a@b.c', password: password() },
  },
  {
    name: 'reset, password of 256 digits',
    path: '/api/auth/reset-password',
    body: { token: 'x', newPassword: '12'.repeat(128) },
  },
  {
    name: 'sign-in, 60 KB of email',
    path: '/api/auth/sign-in/email',
    body: { email: 'a'.repeat(LONG), password: 'x' },
  },
  { name: 'usage of a year', path: `/api/usage?${year}` },
  { name: 'batch of 24 years', path: batch(`usage?${year}`) },
  { name: '200 full keys', path: '/api/keys?limit=200' },
  { name: 'batch of 24 times 200 keys', path: batch('keys?limit=200') },
  { name: 'keys.csv', path: '/api/keys.csv' },
  { name: 'export', path: '/api/settings/export' },
  { name: 'a search of 64 letters', path: `/api/keys?q=${'%C3%A9'.repeat(64)}` },
  { name: 'a nested body of 500 KB', path: '/api/keys', body: deep },
  {
    name: '50 addresses, 100 endpoints',
    path: '/api/keys',
    body: { name: ' ', allowed_ips: Array(50).fill('::/0'), allowed_endpoints: Array(100).fill('x'.repeat(105)) },
  },
  { name: 'an MCP message of 500 KB', path: '/mcp/paid', body: deep },
  { name: 'an OAuth query of 12 KB', path: `/api/auth/oauth2/authorize?client_id=${'x'.repeat(12_000)}` },
]
const HARMLESS: Input = { name: 'harmless', path: '/api/account' }

const folder = await dataFolder()
const server = await startServer(
  folder,
  { OWNER_RPM: '1000000', VISITOR_RPM: '1000000', SIGNUP_RPM: '1000000' },
  SOURCE,
)
try {
  const owner = await signUp(server.url, 'owner@example.com')
  const note = 'n'.repeat(500)
  const addresses = Array.from({ length: 50 }, (_, i) => `10.0.0.${i}`)
  for (let i = 0; i < 200; i++) await owner.api('/api/keys', { name: `key ${i}`, note, allowed_ips: addresses })
  const send = async ({ path, body }: Input) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const headers = { cookie: owner.cookie, ...(body !== undefined && { 'content-type': 'application/json' }) }
    const answer = await fetch(
      server.url + path,
      body === undefined ? { headers, redirect: 'manual' } : { method: 'POST', headers, body: text },
    )
    await answer.arrayBuffer()
  }
  /** The longest wait of a probe while an input is sent, in milliseconds. */
  const longest = async (input: Input) => {
    let most = 0
    let isDone = false
    const sending = (async () => {
      for (let i = 0; i < CALLS; i++) await send(input)
      isDone = true
    })()
    while (!isDone) {
      const started = performance.now()
      await (await fetch(`${server.url}/health`)).arrayBuffer()
      most = Math.max(most, performance.now() - started)
    }
    await sending
    return most
  }
  for (const input of INPUTS) await longest(input)
  const median = (list: number[]) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN
  let isBad = false
  for (const input of INPUTS) {
    const rounds: [before: number, during: number, after: number][] = []
    for (let i = 0; i < ROUNDS; i++)
      rounds.push([await longest(HARMLESS), await longest(input), await longest(HARMLESS)])
    const [before, during, after] = [0, 1, 2].map((at) => median(rounds.map((round) => round[at] ?? Number.NaN)))
    const more = (during ?? Number.NaN) - Math.max(before ?? 0, after ?? 0)
    isBad ||= !(more < MAX_MORE_MS)
    const shown = [before, during, after].map((ms) => ms?.toFixed(1).padStart(7)).join('')
    console.log(`${input.name.padEnd(34)} before, during, after, ms: ${shown}; ${more.toFixed(1)} more`)
  }
  process.exitCode = isBad ? 1 : 0
} finally {
  await server.kill('SIGTERM')
  await removeFolder(folder)
}
