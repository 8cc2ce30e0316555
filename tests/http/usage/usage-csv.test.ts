import { expect, test } from 'bun:test'
import type { Address } from '../../../server/core/credentials/address'
import type { CredentialStore } from '../../../server/core/credentials/store'
import type { AccountStatements } from '../../../server/core/ledger/account-statement'
import type { Page } from '../../../server/core/page'
import type { CallRecord } from '../../../server/core/usage/call-record'
import type { UsageReports } from '../../../server/core/usage/reports'
import type { OwnerSessions } from '../../../server/http/middleware/caller/owner-session'
import type { Intake } from '../../../server/http/middleware/input/intake'
import { RequestContext, routeGroup } from '../../../server/http/middleware/request-context'
import { EndpointTable } from '../../../server/http/routing/endpoint-table'
import { ownerUsageRoutes } from '../../../server/http/usage/owner-routes'
import { accountId, call } from '../../support/ledger-parts'

const account = accountId()

/** The lines of /api/usage.csv after its head, over these pages of the log. */
async function csvOf(pages: readonly Page<CallRecord>[]): Promise<string[]> {
  let asked = 0
  const parts = {
    owners: { owner: async () => ({ accountId: account }) },
    credentials: { lists: { seenBy: () => ({ names: async () => [] }) } },
    reports: { requests: async () => pages[asked++] ?? null },
  }
  const routes = ownerUsageRoutes({
    owners: parts.owners as unknown as OwnerSessions, // only what the file asks for
    credentials: parts.credentials as unknown as CredentialStore,
    apps: { byAccount: async () => [] },
    reports: parts.reports as unknown as UsageReports,
    statements: {} as AccountStatements,
    endpoints: new EndpointTable(),
    now: () => 0,
  })
  const deps = { clock: { now: () => 0 }, intake: {} as Intake, addressOf: (socket: Address) => socket }
  const web = routeGroup({ name: 'csv' })
    .onRequest((elysia) => {
      elysia.context = new RequestContext(elysia.request, null, deps)
    })
    .use(routes)
  const answer = await web.handle(new Request('http://127.0.0.1/api/usage.csv'))
  return (await answer.text()).trimEnd().split('\r\n').slice(1)
}

test('the file continues over pages without a call, to the last one', async () => {
  const [one, two] = [call(account, 5), call(account, null)]
  const rows = (list: CallRecord[], next: string | null) => ({ rows: list, next })
  const lines = await csvOf([rows([], 'a'), rows([one], 'b'), rows([], 'c'), rows([], 'd'), rows([two], null)])
  expect(lines.map((line) => line.split(',')[1])).toEqual([one.id, two.id])
  expect(await csvOf([rows([], 'a'), rows([], 'b'), rows([], null)])).toEqual([])
  expect(await csvOf([rows([], 'a'), rows([two], 'b'), rows([], null)])).toHaveLength(1)
})
