import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  control,
  dataFolder,
  FREES_MEMORY,
  removeFolder,
  SOURCE,
  signUp,
  startServer,
} from '../support/servers/server-process'
import { residentMb } from './proc'
import { quantile } from './statistics'

/** The order of a worker: how to ask, and what. */
interface Attack {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  /** Milliseconds from the start of one request of a connection to that of the next; 0: as soon as it is answered. */
  readonly everyMs: number
  readonly requests: readonly Asked[]
}
interface Asked {
  readonly method: string
  readonly path: string
  readonly body?: string
}
type Schema = Readonly<Record<string, unknown>>

const HELP = `One stranger, one free and one paying account mix all routes with their largest inputs, each for some minutes, while another customer
searches. Controls in turns: as many harmless requests.

  bun run bench:abuse [--minutes N=10] [--only stranger|free|paying]

Ends with 1 if the customer's p99 doubles, memory passes 600 MB, or the data folder grows by 50 MB more.`

const SEARCH = '/apis/v1/websearch/images/search?q=card&count=5'
const PROBES_PER_SECOND = 20
const ROUND_MS = 15_000
const MAX_TEXT = 8000
/** They end the attack. */
const ENDS = /close|sign-out|\/end|revoke|erase|two-factor|passkey|change-password|delete|\/events|\/operator$/

/** Every route of the document with its largest input. */
async function largestInputs(url: string): Promise<Asked[]> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Schema
  const at = (pointer: string) =>
    pointer
      .slice(2)
      .split('/')
      .reduce<unknown>((value, name) => Reflect.get(Object(value), name), document)
  const largest = (given: unknown, depth = 0): unknown => {
    const schema = Object(given) as Schema
    const { $ref, type, enum: choices, maxLength, maxItems, maximum, properties, items } = schema
    if (typeof $ref === 'string') return largest(at($ref), depth)
    const [one] = [schema['anyOf'], schema['oneOf'], schema['allOf']].filter(Array.isArray)
    if (one) return largest(one[0], depth)
    if (Array.isArray(choices)) return choices.at(-1)
    if (type === 'string') return 'é'.repeat(Math.min(Number(maxLength ?? MAX_TEXT), MAX_TEXT))
    if (type === 'integer' || type === 'number') return Number(maximum ?? 1_000_000)
    if (type === 'boolean') return true
    if (type === 'array')
      return Array.from({ length: Math.min(Number(maxItems ?? 100), 200) }, () => largest(items, depth + 1))
    if (depth > 4) return {}
    return Object.fromEntries(
      Object.entries(Object(properties)).map(([name, part]) => [name, largest(part, depth + 1)]),
    )
  }
  const asked: Asked[] = []
  for (const [path, methods] of Object.entries(Object(document['paths'])))
    for (const [method, operation] of Object.entries(Object(methods))) {
      if (ENDS.test(path) || !['get', 'post', 'put', 'patch', 'delete'].includes(method)) continue
      const { parameters = [], requestBody } = operation as { parameters?: Schema[]; requestBody?: Schema }
      const query = new URLSearchParams()
      for (const { in: place, name, schema } of parameters)
        if (place === 'query') query.set(String(name), String(largest(schema)).slice(0, 2000))
      const media = Object(Reflect.get(Object(requestBody), 'content'))['application/json']
      const body = media ? JSON.stringify(largest(Object(media)['schema'])).slice(0, 1_000_000) : undefined
      asked.push({
        method: method.toUpperCase(),
        path: `${path.replace(/\{\w+\}/g, 'x'.repeat(64))}?${query}`,
        ...(body !== undefined && { body }),
      })
    }
  return asked
}

/** The parts that the document leaves out. */
function special(): Asked[] {
  const words = Array.from({ length: 30_000 }, (_, i) => i % 10).join('@')
  const deep = `${'['.repeat(90)}${'1,'.repeat(250_000)}1${']'.repeat(90)}`
  const year = 'bucket_width=1d&timezone=America/St_Johns'
  const batch = (part: string) => `/api/batch?${`get=${encodeURIComponent(part)}&`.repeat(24)}`
  const sign = (path: string, fields: object): Asked => ({ method: 'POST', path, body: JSON.stringify(fields) })
  return [
    sign('/api/auth/sign-up/email', { name: words, email: 'a@example.com', password: '12'.repeat(32) }),
    sign('/api/auth/reset-password', { token: 'x', newPassword: '1a'.repeat(32), name: words }),
    { method: 'GET', path: batch(`usage?${year}`) },
    { method: 'GET', path: batch('keys?limit=200') },
    { method: 'GET', path: batch('requests?search=x&limit=200') },
    { method: 'POST', path: '/mcp', body: deep },
    { method: 'POST', path: '/v1/chat/completions', body: deep },
    { method: 'GET', path: `${SEARCH}&count=0` },
  ]
}

async function attack({ url, headers, connections, everyMs, requests }: Attack): Promise<void> {
  let sent = 0
  const statuses: Record<number, number> = {}
  const connection = async () => {
    for (let due = performance.now(); ; due += everyMs) {
      const { method, path, body } = requests[sent++ % requests.length] as Asked
      const json = body !== undefined && { 'content-type': 'application/json' }
      const answer = await fetch(url + path, {
        method,
        headers: { ...headers, ...json },
        redirect: 'manual',
        ...(body && { body }),
      })
      await answer.arrayBuffer()
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
      if (everyMs > 0) await Bun.sleep(Math.max(0, due + everyMs - performance.now()))
    }
  }
  setInterval(() => postMessage({ sent, statuses }), 500)
  await Promise.all(Array.from({ length: connections }, connection))
}

async function folderMb(folder: string): Promise<number> {
  const sizes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size))
  return sizes.reduce((all, size) => all + size, 0) / 1e6
}

async function bench({
  minutes,
  only,
}: {
  readonly minutes: number
  readonly only: string | undefined
}): Promise<boolean> {
  const folder = await dataFolder()
  const settings = { OWNER_RPM: '2400', VISITOR_RPM: '600', ...FREES_MEMORY }
  const server = await startServer(folder, settings, SOURCE)
  let isGood = true
  try {
    const customer = await person('customer', { rpm: 1e6, tpm: 1e8, concurrency: 100 }, 1000)
    const [free, paying] = [
      await person('free'),
      await person('paying', { rpm: 600, tpm: 600_000, concurrency: 20 }, 100),
    ]
    const requests = [...(await largestInputs(server.url)), ...special()]
    const attackers = { stranger: null, free, paying }
    for (const [name, who] of Object.entries(attackers)) {
      if (only !== undefined && only !== name) continue
      const pace = who ? { connections: 4, everyMs: 0 } : { connections: 1, everyMs: 1000 }
      const plans = who
        ? [{ cookie: who.cookie }, { authorization: `Bearer ${who.secret}` }].map((headers) => ({ headers, requests }))
        : [{ headers: {}, requests: special() }]
      const [calm, hurt]: [number[], number[]] = [[], []]
      let [sent, maxMb, seconds] = [0, 0, 0]
      const before = await folderMb(folder)
      for (const end = Date.now() + minutes * 60_000; Date.now() < end; ) {
        const attacked = await round(
          plans.map((plan) => ({ url: server.url, ...pace, ...plan })),
          hurt,
        )
        ;[sent, maxMb, seconds] = [sent + attacked.sent, Math.max(maxMb, attacked.maxMb), seconds + ROUND_MS / 1000]
        // As many requests as the attacker got through, of the cheapest kind.
        const harmless = [{ method: 'GET', path: '/api/account' }]
        const rest = Math.max(1, Math.round((ROUND_MS * pace.connections) / Math.max(1, attacked.sent / plans.length)))
        await round(
          plans.map(({ headers }) => ({ url: server.url, ...pace, everyMs: rest, headers, requests: harmless })),
          calm,
        )
      }
      const [p99, control] = [quantile(hurt, 0.99), quantile(calm, 0.99)]
      const grown = (await folderMb(folder)) - before
      const isFine = p99 < 2 * control && maxMb < 600 && grown < 50
      isGood &&= isFine
      console.log(
        `${name.padEnd(9)} ${sent} requests in ${seconds} s; customer p50 ${quantile(hurt, 0.5).toFixed(1)} / ${quantile(calm, 0.5).toFixed(1)}, p99 ${p99.toFixed(1)} / ${control.toFixed(1)} ms (attack / harmless); memory ${maxMb.toFixed(0)} MB; disk +${grown.toFixed(1)} MB: ${isFine ? 'good' : 'BAD'}`,
      )
    }

    async function round(attacks: readonly Attack[], latencies: number[]) {
      const workers = attacks.map((one) => {
        const worker = new Worker(import.meta.url)
        worker.postMessage(one)
        return { worker, last: { sent: 0, statuses: {} as Record<number, number> } }
      })
      for (const one of workers) one.worker.onmessage = ({ data }) => (one.last = data)
      let maxMb = 0
      for (const end = performance.now() + ROUND_MS; performance.now() < end; ) {
        const started = performance.now()
        const answer = await fetch(server.url + SEARCH, { headers: { authorization: `Bearer ${customer.secret}` } })
        await answer.arrayBuffer()
        if (answer.status !== 200) throw new Error(`the customer got ${answer.status}`)
        latencies.push(performance.now() - started)
        maxMb = Math.max(maxMb, residentMb(server.pid))
        await Bun.sleep(Math.max(0, 1000 / PROBES_PER_SECOND - (performance.now() - started)))
      }
      for (const { worker } of workers) worker.terminate()
      return { sent: workers.reduce((all, { last }) => all + last.sent, 0), maxMb }
    }

    async function person(name: string, limits?: object, usd?: number) {
      const { cookie, api } = await signUp(server.url, `${name}@example.com`)
      const { id } = (await api('/api/account')) as { id: string }
      if (limits) await control(folder, `/accounts/${id}/limits`, { limits })
      if (usd) await control(folder, `/accounts/${id}/grants`, { usd: String(usd), note: 'bench', reference: name })
      const { secret } = (await api('/api/keys', { name: 'bench' })) as { secret: string }
      return { cookie, secret }
    }
  } finally {
    await server.kill('SIGTERM')
    await removeFolder(folder)
  }
  return isGood
}

if (Bun.isMainThread) {
  const options = {
    minutes: { type: 'string', default: '10' },
    only: { type: 'string' },
    help: { type: 'boolean' },
  } as const
  const { values } = parseArgs({ options })
  if (values.help) console.log(HELP)
  else process.exitCode = (await bench({ minutes: Number(values.minutes), only: values.only })) ? 0 : 1
} else self.addEventListener('message', ({ data }: MessageEvent<Attack>) => void attack(data))
