import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { reconcile } from '../support/reconcile'
import { median, spread, sum, table } from './statistics'
import { FEEDER_CORE, type Helper, SERVER_CORE, type Workshop } from './workshop'
import { type Burst, burst, type Target } from './wrk'

const KINDS = ['plain', 'stream', 'search'] as const
type Kind = (typeof KINDS)[number]

interface AgainstRow {
  readonly kind: Kind
  readonly proxy: readonly Burst[]
  readonly before: readonly Burst[]
  readonly after: readonly Burst[]
}

export interface AgainstResult {
  readonly commit: string
  readonly rows: readonly AgainstRow[]
  readonly problems: readonly string[]
}

const CONNECTIONS = 64
const MODEL = 'gpt-4o-mini'
const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=20&country=US&safesearch=strict'
/** Until the compiler has seen the whole path. */
const WARM_SECONDS = 10

/** A checkout of this repository: its gateway, started as users start it, and how to call it. */
interface Checkout {
  readonly gateway: Helper
  readonly database: string
  target(kind: Kind): Target
  close(): Promise<void>
}

/** Charged calls of another commit, of this one and of a bare proxy, in turns: what else the machine does falls on all three. */
export async function measureAgainst(
  workshop: Workshop,
  commit: string,
  plan: { rounds: number; seconds: number },
): Promise<AgainstResult> {
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const base = `http://127.0.0.1:${upstream.ready}`
  const proxy = await workshop.helper('bare-proxy.ts', [base], SERVER_CORE)
  const before = await opened(await checkedOut(workshop, commit), workshop, base)
  const after = await opened(workshop, workshop, base)
  const rows: AgainstRow[] = []
  for (const kind of KINDS) {
    const bare = targetOf(kind, Number(proxy.ready), proxy.pid, { key: '', keysFile: after.keysFile, base })
    const targets = { proxy: bare, before: before.target(kind), after: after.target(kind) }
    for (const target of Object.values(targets)) await burst(target, CONNECTIONS, WARM_SECONDS)
    const row = { kind, proxy: [] as Burst[], before: [] as Burst[], after: [] as Burst[] }
    for (let round = 0; round < plan.rounds; round++)
      for (const name of ['proxy', 'before', 'after'] as const)
        row[name].push(await burst(targets[name], CONNECTIONS, plan.seconds))
    rows.push(row)
  }
  await before.close()
  await after.close()
  // The books of another commit may have other tables.
  const { problems } = await reconcile(after.database)
  await proxy.stop()
  await upstream.stop()
  return { commit, rows, problems }
}

/** A workshop of another commit of this repository, with the packages of that commit. */
async function checkedOut(workshop: Workshop, commit: string): Promise<Workshop> {
  const folder = await workshop.folder('checkout')
  const root = resolve(import.meta.dir, '..', '..')
  for (const command of [
    ['git', 'clone', '--quiet', '--no-checkout', '--shared', root, folder],
    ['git', '-C', folder, 'checkout', '--quiet', commit],
    [process.execPath, 'install', '--cwd', folder, '--frozen-lockfile', '--silent'],
  ]) {
    const run = Bun.spawnSync(command, { stdout: 'inherit', stderr: 'inherit' })
    if (run.exitCode !== 0) throw new Error(`${command.join(' ')} failed`)
  }
  return workshop.at(folder)
}

async function opened(
  checkout: Workshop,
  workshop: Workshop,
  base: string,
): Promise<Checkout & { readonly keysFile: string }> {
  const folder = await workshop.folder('against')
  const entry = {
    id: MODEL,
    upstream: { kind: 'openai', base_url: `${base}/v1`, concurrency: 10_000 },
    price: { input: 0.15, output: 0.6 },
    recharge_required: false,
  }
  writeFileSync(join(folder, 'models.json'), JSON.stringify({ models: [entry] }))
  await checkout.once('seed-core.ts', ['keys', folder, '1'])
  const keysFile = join(folder, 'keys.txt')
  const key = readFileSync(keysFile, 'utf8').trim()
  const gateway = await checkout.gateway(folder, `${base}/2000/0`)
  return {
    gateway,
    keysFile,
    target: (kind) => targetOf(kind, Number(gateway.ready), gateway.pid, { key, keysFile, base }),
    database: join(folder, 'gateway.db'),
    async close() {
      await gateway.stop()
    },
  }
}

function targetOf(
  kind: Kind,
  port: number,
  pid: number,
  { key, keysFile, base }: { readonly key: string; readonly keysFile: string; readonly base: string },
): Target {
  const origin = `http://127.0.0.1:${port}`
  return kind === 'search'
    ? { url: `${origin}${SEARCH}`, pid, script: 'rotate-keys.lua', args: [keysFile] }
    : { url: `${origin}/v1/chat/completions`, pid, script: 'models.lua', args: [key, kind, `${base}/v1`] }
}

export function describeAgainst({ commit, rows, problems }: AgainstResult): string {
  const of = (bursts: readonly Burst[], pick: (one: Burst) => number) => median(bursts.map(pick)).toFixed(0)
  const three = ({ proxy, before, after }: AgainstRow, pick: (one: Burst) => number) =>
    [proxy, before, after].map((bursts) => of(bursts, pick)).join(' / ')
  const ratio = ({ before, after }: AgainstRow, pick: (one: Burst) => number) =>
    spread(
      after.map((one, i) => pick(one) / pick(before[i] ?? one)),
      2,
    )
  return [
    `Charged calls at ${CONNECTIONS} connections, one core: a bare proxy, ${commit}, and this checkout, in turns.`,
    table(
      ['', 'req/s', 'CPU us/req', 'CPU (range)', 'JS thread us/req', 'p99 ms', 'p99 (range)', 'RSS MB', 'not 200'],
      rows.map((row) => [
        row.kind,
        three(row, (one) => one.rps),
        three(row, (one) => one.cpu),
        ratio(row, (one) => one.cpu),
        three(row, (one) => one.mainCpu),
        three(row, (one) => one.p99 / 1000),
        ratio(row, (one) => one.p99),
        three(row, (one) => one.residentMb),
        sum([...row.before, ...row.after].map(({ refused, broken }) => refused + broken)),
      ]),
    ),
    problems.length === 0 ? 'All books agree.' : problems.join('; '),
  ].join('\n\n')
}
