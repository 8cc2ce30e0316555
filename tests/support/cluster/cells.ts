import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { LibsqlCellDirectory } from '../../../server/adapters/stores/libsql/cluster/cell-directory'
import { Opened } from '../../../server/adapters/stores/libsql/driver/opened'
import { openSharedDatabase } from '../../../server/adapters/stores/libsql/shared-database'
import type { CellMembership } from '../../../server/compose/cluster/cells/cell-membership'
import { roomForBodies } from '../../../server/compose/room-for-bodies'
import { type CellMessages, CellSilent } from '../../../server/core/cluster/cell-messages'
import { type CellCalls, type CellName, MAIN_CELL } from '../../../server/core/cluster/cells'
import { ChangesHere } from '../../../server/core/cluster/control-changes'
import { FakeClock, type Harness, newFolder, openHarness } from '../harness'
import { TEST_THREADS } from '../test-threads'

/** The cell beside `main`. */
export const C2 = 'c2'

export type Cells = Awaited<ReturnType<typeof openCells>>

/**
 * The gateways of two cells in this process: `main` owns the control database, the other one shares it and has its accounts in a database of its
 * own. Each has its folder. Requests are sent to a gateway as the node of its cell would.
 */
export async function openCells(
  options: {
    readonly env?: Readonly<Record<string, string>>
    readonly folders?: readonly [string, string]
    /** A clock that runs with the true time. */
    readonly running?: boolean
    /** Whether the other cell is not opened yet. */
    readonly mainAlone?: boolean
  } = {},
) {
  const { env = {}, folders = [await newFolder(), await newFolder()], running = false } = options
  const clock = new FakeClock({ running })
  const changes = new ChangesHere()
  const gateways = new Map<CellName, Harness>()
  const gatewayOf = (cell: CellName): Harness => {
    const gateway = gateways.get(cell)
    if (!gateway) throw new Error(`no gateway of ${cell}`)
    return gateway
  }
  const messages: CellMessages = {
    async send(cell, message) {
      if (made.unreachable) throw new CellSilent('the cell is away')
      return gatewayOf(cell).gateway.receive(message)
    },
  }
  const bodies = roomForBodies()
  const common = { all: [MAIN_CELL, C2], changes, messages, witness: null, bodies }
  const opened = new Opened()
  const control = await openSharedDatabase(
    {
      ...{ url: `file:${join(folders[0], 'gateway.db')}`, authToken: null, changes, threads: TEST_THREADS },
      onFatal: (reason) => {
        throw new Error(reason)
      },
    },
    opened,
  )
  const staffHeader = `x-staff-${crypto.randomUUID()}`
  const calls: CellCalls = {
    cells: () => common.all,
    async command(cell, command, body) {
      const headers = { 'content-type': 'application/json' }
      const run = () =>
        gatewayOf(cell).gateway.control(new Request(`http://gateway/${command}`, { method: 'POST', headers, body }))
      return made.lost(command, `${body}`, run) ?? run()
    },
    async ask(cell, request, staff) {
      const headers = new Headers(request.headers)
      if (staff) headers.set(staffHeader, JSON.stringify(staff))
      return gatewayOf(cell).gateway.fetch(new Request(request, { headers }))
    },
  }
  const staffOf = (headers: Headers) => JSON.parse(headers.get(staffHeader) ?? 'null')
  const others = { directory: new LibsqlCellDirectory(control.db), calls }
  const open = async (name: CellName, folder: string, apart: CellMembership['apart']) => {
    const cells = { staffOf, others: { own: name, ...others } }
    gateways.set(name, await openHarness({ env, folder, clock, cells, cell: { ...common, name, apart } }))
  }
  await open(MAIN_CELL, folders[0], null)
  const openC2 = () => open(C2, folders[1], { url: `file:${join(folders[1], 'gateway.db')}`, authToken: null, control })
  if (!options.mainAlone) await openC2()
  const main = gatewayOf(MAIN_CELL)
  const made = {
    ...{ main, clock, control, folders, gatewayOf, openC2, bodies },
    get c2() {
      return gatewayOf(C2)
    },
    /** Whether no gateway can be reached. */
    unreachable: false,
    /** What a gateway gets for a command to another one, in place of the answer of `run`; undefined: that answer. */
    lost: (_command: string, _body: string, _run: () => Promise<Response>): Promise<Response> | undefined => undefined,
    /** Signs up at `main`, as everybody does. The requests of `api` go to the cell of the account. */
    async owner(email: string) {
      const signedUp = await main.owner(email)
      return made.atHome(signedUp)
    },
    async signIn(email: string) {
      return made.atHome(await main.signIn(email))
    },
    async atHome(session: Awaited<ReturnType<Harness['signIn']>>) {
      const user = await main.core.stores.controlDb.all<{ id: string }>(
        `SELECT id FROM identity_user WHERE email = '${session.email}'`,
      )
      const userId = user[0]?.id ?? ''
      const cell = (await main.core.stores.cells.ofUser(userId)) ?? MAIN_CELL
      const api: typeof session.api = (path, body, method = body === undefined ? 'GET' : 'POST', headers = {}) =>
        gatewayOf(cell).call(path, {
          method,
          headers: {
            cookie: session.cookie,
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
      return { ...session, userId, cell, api, atMain: session.api }
    },
    /** Ends the gateway of one cell. */
    async end(cell: CellName) {
      const gateway = gatewayOf(cell)
      gateways.delete(cell)
      await gateway.close(true)
    },
    async close(keepsFolders = false) {
      for (const gateway of [...gateways.values()].reverse()) await gateway.close(true)
      await opened.close()
      if (!keepsFolders) for (const folder of folders) await rm(folder, { recursive: true, force: true })
    },
  }
  return made
}
