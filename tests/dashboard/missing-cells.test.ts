import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type CellCalls, MAIN_CELL } from '../../server/core/cluster/cells'
import { type Dashboard, openDashboard } from '../support/browser'
import { fitsEverybody, heading, left } from '../support/page-checks'

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
  await fitsEverybody(page, 'operator-missing-cells')
  await page.goto(`${dashboard.origin}/operator/money`)
  await page.getByText(SENTENCE).waitFor()
  hasOther = false
  await page.goto(`${dashboard.origin}/operator/audit`)
  await heading(page, 'Gateway audit log')
  await page.getByRole('table').first().waitFor()
  expect(await page.getByText(SENTENCE).count()).toBe(0)
  await left(watched, [])
})
