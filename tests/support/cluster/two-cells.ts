import { type CellCalls, type CellDirectory, type CellName, MAIN_CELL } from '../../../server/core/cluster/cells'
import { type Harness, openHarness } from '../harness'

const JSON_TYPE = { 'content-type': 'application/json' }
const UNREACHED = Response.json({ error: { code: 'service_unavailable' } }, { status: 503 })

/**
 * Two gateways that stand for two cells, each with a database of its own, and a directory and calls between them that are in memory. Users sign up
 * at the cell where they shall be; an operator signs in at `main`.
 */
export async function openTwoCells(options: Pick<Parameters<typeof openHarness>[0] & object, 'env' | 'running'> = {}) {
  const header = `x-staff-${crypto.randomUUID()}`
  const gateways = new Map<CellName, Harness>()
  /** Cells that answer 503. */
  const silent = new Set<CellName>()
  const asked: string[] = []
  /** Answers of c2 by path, in place of its gateway's. */
  const stubs = new Map<string, (request: Request) => Response>()
  const holder = async (has: (gateway: Harness) => Promise<unknown>): Promise<CellName | null> => {
    for (const [name, gateway] of gateways) if (await has(gateway)) return name
    return null
  }
  const directory: CellDirectory = {
    ofKey: async () => null,
    ofUser: (userId) => holder((gateway) => gateway.core.accounts.byUser(userId)),
    ofAccount: (account) => holder((gateway) => gateway.core.accounts.byId(account)),
    claimKey: async () => {},
    claimPayment: async (_claim, cell) => cell,
  }
  const calls: CellCalls = {
    cells: () => [...gateways.keys()],
    async command(cell, command, body) {
      asked.push(`${cell} ${command}`)
      const gateway = gateways.get(cell)
      if (!gateway || silent.has(cell)) return UNREACHED.clone()
      return gateway.gateway.control(
        new Request(`http://gateway/${command}`, { method: 'POST', headers: JSON_TYPE, body }),
      )
    },
    async ask(cell, request, staff) {
      asked.push(`${cell} ${request.method} ${new URL(request.url).pathname}`)
      const stub = stubs.get(new URL(request.url).pathname)
      if (stub) return stub(request)
      const gateway = gateways.get(cell)
      if (!gateway || silent.has(cell)) return UNREACHED.clone()
      const headers = new Headers(request.headers)
      if (staff) headers.set(header, JSON.stringify(staff))
      return gateway.gateway.fetch(new Request(request, { headers }))
    },
  }
  const staffOf = (headers: Headers) => JSON.parse(headers.get(header) ?? 'null')
  const main = await openHarness({ ...options, cells: { staffOf, others: { own: MAIN_CELL, directory, calls } } })
  const other = await openHarness({ ...options, cells: { staffOf, others: { own: 'c2', directory, calls } } })
  gateways.set(MAIN_CELL, main).set('c2', other)
  return { main, other, silent, asked, stubs, calls, header }
}
