import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { reconcile } from '../support/reconcile'
import { writeChatModel } from './chat-model'
import { SEARCH } from './speed'
import { median, spread, sum, table } from './statistics'
import { FEEDER_CORE, SERVER_CORE, type Workshop } from './workshop'
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
/** Until the compiler has seen the whole path. */
const WARM_SECONDS = 10

/** An answer of 2 KB at once. */
const SHORT_ANSWER = '/2000/0'

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
    // The gateway knows the path of a search upstream; the proxy passes on what it gets.
    const path = kind === 'search' ? SHORT_ANSWER + SEARCH : pathOf(kind)
    const bare = { ...after.target(kind), url: `http://127.0.0.1:${proxy.ready}${path}`, pid: proxy.pid }
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

/** The gateway of a checkout, started as users start it, and how to call it. */
async function opened(checkout: Workshop, workshop: Workshop, base: string) {
  const folder = await workshop.folder('against')
  writeChatModel(folder, base)
  await checkout.once('seed-core.ts', ['keys', folder, '1'])
  const keysFile = join(folder, 'keys.txt')
  const key = readFileSync(keysFile, 'utf8').trim()
  const gateway = await checkout.gateway(folder, base + SHORT_ANSWER)
  const { pid } = gateway
  return {
    database: join(folder, 'gateway.db'),
    target(kind: Kind): Target {
      const url = `http://127.0.0.1:${gateway.ready}${pathOf(kind)}`
      return kind === 'search'
        ? { url, pid, script: 'rotate-keys.lua', args: [keysFile] }
        : { url, pid, script: 'models.lua', args: [key, kind, `${base}/v1`] }
    },
    close: () => gateway.stop(),
  }
}

function pathOf(kind: Kind): string {
  return kind === 'search' ? SEARCH : '/v1/chat/completions'
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
        sum([...row.proxy, ...row.before, ...row.after].map(({ refused, broken }) => refused + broken)),
      ]),
    ),
    problems.length === 0 ? 'All books agree.' : problems.join('; '),
  ].join('\n\n')
}
