import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type CellCalls, MAIN_CELL } from '../../server/core/cluster/cells'
import { type Dashboard, follow, openDashboard } from '../support/dashboard/browser'
import { fits, heading, left } from '../support/dashboard/page-checks'

const SENTENCE = 'Incomplete: these cells did not answer: c2.'

let dashboard: Dashboard
let hasOther = true
beforeAll(async () => {
  const header = `x-staff-${crypto.randomUUID()}`
  const away = () => new Response(null, { status: 503 })
  const calls: CellCalls = {
    cells: () => (hasOther ? [MAIN_CELL, 'c2'] : [MAIN_CELL]),
    command: async () => away(),
    async ask(cell, request, staff) {
      if (cell !== MAIN_CELL) return away()
      const headers = new Headers(request.headers)
      headers.set(header, JSON.stringify(staff))
      return dashboard.gateway.fetch(new Request(request, { headers }))
    },
  }
  const nobody = async () => null
  const directory = {
    ...{ ofKey: nobody, ofUser: nobody, ofAccount: nobody, claimKey: async () => undefined },
    claimPayment: async (_claim: string, cell: string) => cell,
  }
  dashboard = await openDashboard({
    cells: {
      others: { own: MAIN_CELL, directory, calls },
      staffOf: (headers) => JSON.parse(headers.get(header) ?? 'null'),
    },
  })
  await dashboard.signedIn()
})
afterAll(async () => {
  await dashboard.close()
})

test("an operator's pages say which cells their figures are without, and nothing while all answer", async () => {
  const watched = await dashboard.visit('/operator')
  const { page } = watched
  await heading(page, 'Operator')
  await page.getByText(SENTENCE).waitFor()
  // Every page of operators says it in the same place.
  await follow(page, '/operator/money')
  await page.getByText(SENTENCE).waitFor()
  await fits(page, 'operator-missing-cells')
  hasOther = false
  await follow(page, '/operator/audit')
  await heading(page, 'Gateway audit log')
  await page.getByRole('table').first().waitFor()
  expect(await page.getByText(SENTENCE).count()).toBe(0)
  await left(watched, [])
})

test('the health card says which cells each node owns', async () => {
  const watched = await dashboard.visit('/operator/audit')
  const { page } = watched
  const node = (at: number, cells: readonly string[]) => ({
    ...{ id: `node_${at}`, url: `http://10.0.0.${at}:3000`, version: '0.2.0', role: 'owner', cells },
    ...{ since: '2026-11-23T12:00:00.000Z', seen_ms_ago: 1, clock_ms: 0, time_zones: 'same' },
  })
  await page.route('**/api/operator/health', async (route) => {
    const health = await (await route.fetch()).json()
    await route.fulfill({ json: { ...health, nodes: [node(1, ['main', 'c3']), node(2, ['c2'])] } })
  })
  await follow(page, '/operator')
  await page.getByText('http://10.0.0.1:3000: owns main, c3 since').waitFor()
  await page.getByText('http://10.0.0.2:3000: owns c2 since').waitFor()
  await left(watched, [])
})
