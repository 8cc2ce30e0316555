import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { WebhookList } from '../../server/http/webhooks/record'
import { axeFindings, becomes, type Dashboard, openDashboard } from '../support/dashboard/browser'
import { fits, heading, left } from '../support/dashboard/page-checks'
import { codeOfWebhook } from '../support/webhooks'

let dashboard: Dashboard
let receiver: Bun.Server<undefined>
let received: string[]
beforeAll(async () => {
  received = []
  receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = await request.text()
      if (JSON.parse(body).type === 'webhook.confirm') return new Response('thanks')
      received.push(body)
      return new Response('thanks')
    },
  })
  dashboard = await openDashboard({ env: { WEBHOOKS_ALLOW_PRIVATE: 'true', SANDBOX_TOPUPS: 'true' } })
})
afterAll(async () => {
  await dashboard.close()
  await receiver.stop(true)
})

test('an owner adds an endpoint, saves its secret, enters its code, tries it, sends again, and deletes it', async () => {
  const owner = await dashboard.signedIn()
  const watched = await dashboard.visit('/webhooks')
  const { page } = watched
  await heading(page, 'Webhooks')
  await page.getByText('No endpoints. Add one to receive events.').waitFor()
  await page.getByRole('button', { name: 'Add endpoint' }).click()
  const form = page.getByRole('dialog', { name: 'Add endpoint' })
  const url = `http://127.0.0.1:${receiver.port}/hook`
  await form.getByLabel('URL').fill(url)
  await form.getByRole('checkbox', { name: 'key.revoked' }).check()
  expect(await axeFindings(page)).toEqual([])
  await form.getByRole('button', { name: 'Add endpoint' }).click()
  const shown = page.getByRole('dialog', { name: 'Your signing secret' })
  expect(await shown.getByLabel('Signing secret').inputValue()).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  await shown.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('cell', { name: url }).waitFor()
  await page.getByRole('cell', { name: 'key.revoked' }).waitFor()
  await page.getByText('Waiting for confirmation').waitFor()
  await fits(page, 'webhooks')

  await page.getByRole('button', { name: `Enter code: ${url}` }).click()
  const confirming = page.getByRole('dialog', { name: 'Confirm this endpoint' })
  await fits(page, 'webhooks-code')
  await confirming.getByRole('button', { name: 'Send a new code' }).click()
  await page.getByText('A new code is on its way. Older codes no longer work.').waitFor()
  await confirming.getByLabel('Code').fill('WRONG000')
  await confirming.getByRole('button', { name: 'Confirm', exact: true }).click()
  await confirming.getByText('This is not the newest code that was sent to the endpoint.').waitFor()
  const { webhooks } = (await (await owner.api('/api/webhooks')).json()) as WebhookList
  await confirming.getByLabel('Code').fill(await codeOfWebhook(dashboard, webhooks[0]?.id ?? ''))
  await confirming.getByLabel('Code').press('Enter')
  await page.getByText('Active', { exact: true }).waitFor()

  await page.getByRole('button', { name: `More actions for ${url}` }).click()
  await page.getByRole('menuitem', { name: 'Send test' }).click()
  await dashboard.gateway.delivering.run()
  await dashboard.gateway.delivering.settled()
  await page.getByRole('button', { name: `Deliveries: ${url}` }).click()
  const log = page.getByRole('dialog', { name: 'Deliveries' })
  const tried = log.getByRole('row').filter({ hasText: 'webhook.test' })
  await tried.getByText('Delivered', { exact: true }).waitFor()
  expect(await log.getByRole('button', { name: /^Resend/ }).count()).toBe(1)
  expect(await axeFindings(page)).toEqual([])
  await log.getByRole('button', { name: 'Resend: webhook.test' }).click()
  await page.getByText('Queued for resending.').waitFor()
  await tried.getByRole('cell', { name: '2', exact: true }).waitFor()
  expect(received).toHaveLength(2)
  expect(received[1]).toBe(received[0] ?? '')
  await log.getByRole('button', { name: 'Close', exact: true }).last().click()

  await page.getByRole('button', { name: `More actions for ${url}` }).click()
  await page.getByRole('menuitem', { name: 'Pause' }).click()
  await page.getByText('Paused', { exact: true }).waitFor()
  await page.getByRole('button', { name: `More actions for ${url}` }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page
    .getByRole('alertdialog', { name: 'Delete this endpoint?' })
    .getByRole('button', { name: 'Delete', exact: true })
    .click()
  await page.getByText('No endpoints. Add one to receive events.').waitFor()
  // The wrong code.
  await left(watched, [/status of 400/])
})

test('a notice of a top-up says how much was added', async () => {
  const owner = await dashboard.signedIn()
  expect((await owner.api('/api/topups', { amount: '12.50', method: 'sandbox' })).status).toBeLessThan(300)
  await dashboard.gateway.delivering.run()
  const watched = await dashboard.visit('/notices')
  const topUp = watched.page.getByRole('row', { name: 'Top-up completed' })
  await topUp.getByRole('cell', { name: '$12.50' }).waitFor()
  await left(watched)
})

test('the bell counts what is unread, and its page shows it', async () => {
  const owner = await dashboard.signedIn()
  await owner.api('/api/keys', { name: 'laptop' })
  await dashboard.gateway.delivering.run()
  const watched = await dashboard.visit('/')
  const { page } = watched
  await page.getByRole('link', { name: 'Notices, 1 unread' }).click()
  await heading(page, 'Notices')
  await page.getByRole('rowheader', { name: 'API key created' }).waitFor()
  await page.getByRole('cell', { name: 'laptop' }).waitFor()
  await fits(page, 'notices')
  await page.getByRole('button', { name: 'Mark all as read' }).click()
  await page.getByRole('link', { name: 'Notices', exact: true }).waitFor()
  await becomes(() => page.getByText('New', { exact: true }).count(), 0)
  await left(watched)
})
