import { createClient } from '@libsql/client'
import { reasonOf } from '../../../server/core/result'
import { openSqld } from '../databases/sqld'
import { freePort } from '../servers/free-port'
import {
  control,
  dataFolder,
  removeFolder,
  type ServerProcess,
  type SOURCE,
  signUp,
  startServer,
} from '../servers/server-process'
import { openTcpProxy } from '../servers/tcp-proxy'
import { until } from '../until'

type Owner = Pick<Awaited<ReturnType<typeof signUp>>, 'api'>

export interface TestNode extends ServerProcess {
  /** Its data folder, with its control socket. */
  readonly folder: string
}

/** The most request ids in one statement. */
const MAX_IDS = 10_000
const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'

/**
 * One libSQL server, one more for each further cell, and as many nodes on them as the test starts. `migrated`: whether they have their
 * tables; otherwise the first node makes them.
 */
export async function openCluster({ moreCells = 0, migrated = true } = {}) {
  const database = await openSqld({ migrated })
  const cellDatabases = await Promise.all(Array.from({ length: moreCells }, () => openSqld({ migrated })))
  const wires = await Promise.all(cellDatabases.map(({ url }) => openTcpProxy(Number(new URL(url).port))))
  const client = createClient({ url: database.url })
  const nodes: TestNode[] = []
  /** The rows of a statement that reads every cell. */
  const inAllCells = async (sql: string, ...args: string[]) => {
    const clients = [database, ...cellDatabases].map(({ url }) => createClient({ url }))
    const results = await Promise.all(clients.map((each) => each.execute({ sql, args })))
    for (const each of clients) each.close()
    return results.flatMap(({ rows }) => rows)
  }
  const start = async (env: Readonly<Record<string, string>> = {}, program?: typeof SOURCE): Promise<TestNode> => {
    const folder = await dataFolder({ migrated: false })
    const port = `${await freePort()}`
    const settings = {
      DATABASE_URL: database.url,
      BASE_URL: 'http://gateway.test',
      PORT: port,
      NODE_URL: `http://127.0.0.1:${port}`,
      SOCIAL_PROVIDER: 'none',
      ...(moreCells > 0 && { CELL_DATABASE_URLS: wires.map(({ url }) => url).join() }),
      ...env,
    }
    const server = await startServer(folder, settings, program)
    const node = { ...server, folder }
    nodes.push(node)
    return node
  }
  return {
    database,
    cellDatabases,
    /** Between the nodes and the database of each further cell. */
    wires,
    start,
    /** The leases end as if their 10 seconds were over: all, or those of one node. */
    endLease: (of?: TestNode) =>
      client.execute({ sql: 'UPDATE leases SET expires_at = 1 WHERE url = ifnull(?, url)', args: [of?.url ?? null] }),
    /** Which of these calls the books have as charged. */
    async charged(requestIds: readonly string[]): Promise<Set<string>> {
      const found = new Set<string>()
      // A long crash run has more of them than a server takes in one value.
      for (let from = 0; from < requestIds.length; from += MAX_IDS) {
        const rows = await inAllCells(
          'SELECT id FROM requests WHERE cost > 0 AND id IN (SELECT value FROM json_each(?))',
          JSON.stringify(requestIds.slice(from, from + MAX_IDS)),
        )
        for (const { id } of rows) found.add(String(id))
      }
      return found
    },
    inAllCells,
    /** The cell of an account. */
    async cellOf(account: string): Promise<string> {
      const sql = 'SELECT cell FROM account_directory WHERE account_id = ?'
      return String((await client.execute({ sql, args: [account] })).rows[0]?.['cell'])
    },
    async close() {
      client.close()
      for (const node of nodes) if ((await ended(node)) === null) process.kill(node.pid, 'SIGCONT')
      await Promise.all(nodes.map((node) => node.kill('SIGKILL')))
      for (const one of [...wires, database, ...cellDatabases]) await one.close()
      await Promise.all(nodes.map(({ folder }) => removeFolder(folder)))
    },
  }
}

/** The exit code of a process that has ended; null for one that runs. */
function ended(node: TestNode): Promise<number | null> {
  return Promise.race([node.exited, Promise.resolve(null)])
}

/** To answer, a node reads the leases and asks the owner of each cell, which reads its database. */
const ASK_EVERY_MS = 100
/** When each node was asked last, by its folder. */
const lastAsked = new Map<string, number>()

/** The URL of the node that owns each cell, as this node reports it over its control socket; a node is asked ten times a second at most. */
export async function ownersOf(node: Pick<TestNode, 'folder'>): Promise<Readonly<Record<string, string | null>>> {
  const rest = (lastAsked.get(node.folder) ?? 0) + ASK_EVERY_MS - performance.now()
  if (rest > 0) await Bun.sleep(rest)
  lastAsked.set(node.folder, performance.now())
  const { cells } = (await (await control(node.folder, 'cells', {})).json()) as {
    cells: { name: string; owner: string | null }[]
  }
  return Object.fromEntries(cells.map(({ name, owner }) => [name, owner]))
}

/** The URL of the node that owns the accounts of `main`. */
export async function ownerOf(node: TestNode): Promise<string | null> {
  return (await ownersOf(node))['main'] ?? null
}

/** Waits until this node owns the accounts and serves. */
export async function untilOwner(node: TestNode): Promise<void> {
  await until(async () => (await ownerOf(node)) === node.url, node.output)
  await until(async () => (await fetch(`${node.url}/ready`)).ok, node.output)
}

/** An account whose limits no test reaches, with a key that may spend so many USD. */
export async function openSpender(node: Pick<TestNode, 'url' | 'folder'>, email: string, limit: number | null) {
  const owner = await signUp(node.url, email)
  await control(node.folder, 'limits', { account: owner.id, limits: { rpm: 1e6, tpm: 1e6, concurrency: 1000 } })
  await control(node.folder, 'grant', { account: owner.id, usd: '1000' })
  return { ...owner, ...(await makeKey(owner, { name: 'cluster', spending_limit: limit }, node)) }
}

/** Asks again where no node owns the account's cell at the moment. Throws at any other answer than a key. */
export async function makeKey({ api }: Owner, settings: object, { url }: Pick<TestNode, 'url'>) {
  let answer: Awaited<ReturnType<typeof api>>
  await until(async () => {
    answer = await api('/api/keys', settings, url)
    return answer.error?.code !== 'service_unavailable'
  })
  if (typeof answer.secret !== 'string') throw new Error(`no key was made: ${JSON.stringify(answer)}`)
  return { keyId: String(answer.key.id), secret: String(answer.secret) }
}

/** What one call became: its status, and its id in the books. 0: the connection broke. */
export interface Outcome {
  readonly status: number
  readonly id: string
  readonly ms: number
  /** Unless it was served: what its caller saw, where, and after how long. */
  readonly failure?: string
}

export async function search(node: Pick<TestNode, 'url'>, secret: string): Promise<Outcome> {
  const began = performance.now()
  const failed = (what: string, ms: number) => ({ ms, failure: `${what} from ${node.url} after ${Math.round(ms)} ms` })
  try {
    const answer = await fetch(node.url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })
    const { status, headers } = answer
    const body = await answer.text()
    const ms = performance.now() - began
    const outcome = { status, id: headers.get('x-gateway-request-id') ?? '', ms }
    return status === 200 ? outcome : { ...outcome, ...failed(`${status} ${body}`, ms) }
  } catch (error) {
    return { status: 0, id: '', ...failed(reasonOf(error), performance.now() - began) }
  }
}

/** How long a caller waits before it calls again, in ms. */
export interface Pause {
  readonly served: number
  readonly refused: number
}

/** Calls at full speed take the processor from the nodes, and from the tests beside these. */
const PAUSE_MS: Pause = { served: 100, refused: 100 }
/** So that some of a few callers have a call under way at any moment, as where a node is killed. */
export const BUSY_MS: Pause = { served: 10, refused: 100 }

/** Calls until it is stopped, so many callers at a time, at whatever node `pick` gives. */
export function load(secret: string, atOnce: number, pick: () => Pick<TestNode, 'url'>, pause = PAUSE_MS) {
  const outcomes: Outcome[] = []
  let rest = pause
  let isOver = false
  const caller = async () => {
    while (!isOver) {
      const outcome = await search(pick(), secret)
      outcomes.push(outcome)
      await Bun.sleep(outcome.status === 200 ? rest.served : rest.refused)
    }
  }
  const callers = Array.from({ length: atOnce }, caller)
  return {
    outcomes,
    /** Waits so long from here on. */
    pace(next: Pause) {
      rest = next
    },
    async stop() {
      isOver = true
      await Promise.all(callers)
      return outcomes
    },
  }
}

/** The calls that became something else than one of these statuses. */
export function otherThan(outcomes: readonly Outcome[], ...statuses: number[]): Outcome[] {
  return outcomes.filter(({ status }) => !statuses.includes(status))
}

export function counted(outcomes: readonly Outcome[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of outcomes) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
