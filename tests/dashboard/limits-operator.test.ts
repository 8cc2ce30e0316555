import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { becomes, type Dashboard, follow, openDashboard } from '../support/dashboard/browser'
import { fits, heading, left, REFUSED } from '../support/dashboard/page-checks'

type Owner = Awaited<ReturnType<Dashboard['signedIn']>>

let dashboard: Dashboard
let operator: Owner
beforeAll(async () => {
  dashboard = await openDashboard()
  operator = await dashboard.signedIn()
})
afterAll(() => dashboard.close())

/** Puts an owner's session into the browser again. */
async function as(owner: { cookie: string }): Promise<void> {
  await dashboard.browser.clearCookies()
  await dashboard.browser.addCookies(
    owner.cookie.split('; ').map((pair) => {
      const at = pair.indexOf('=')
      return { name: pair.slice(0, at), value: pair.slice(at + 1), url: dashboard.origin, sameSite: 'Lax' }
    }),
  )
}

describe('Limits', () => {
  test("shows the tier, each key's usage live, and sends a request that the operator approves", async () => {
    const owner = await dashboard.signedIn()
    const made = await (await owner.api('/api/keys', { name: 'laptop' })).json()
    const watched = await dashboard.visit('/limits')
    const { page } = watched
    await heading(page, 'Limits')
    const live = page.getByRole('region', { name: 'In use now' })
    await live.getByText('0 of 60', { exact: true }).waitFor()
    // To the start of a minute: at the end of one, the count would be gone before it is seen.
    dashboard.clock.advance(60_000 - (dashboard.clock.now() % 60_000))
    await dashboard.as(made.secret, '/apis/v1/websearch/images/search?q=card')
    await live.getByText('1 of 60', { exact: true }).waitFor()
    const tiers = page.getByRole('table', { name: 'Limits of each tier' })
    expect(
      await tiers
        .getByRole('row')
        .filter({ has: page.getByText('Current', { exact: true }) })
        .textContent(),
    ).toContain('Free')
    await fits(page, 'limits')

    await page.getByRole('button', { name: 'Request an increase' }).click()
    await page.getByText('Enter at least 20 characters.').waitFor()
    await becomes(() => page.getByText('Enter a whole number.').count(), 2)
    await page.getByText('Choose at least one.').waitFor()
    await page.getByLabel('Peak requests per minute').fill('60')
    await page.getByLabel('Peak tokens per minute').fill('60,000')
    await page.getByRole('checkbox', { name: 'Image search' }).check()
    await page.getByLabel('Use case').fill('A catalog of a million products with pictures.')
    await page.getByRole('button', { name: 'Request an increase' }).click()
    await page.getByText('Enter more than 60 requests or 60,000 tokens per minute, your current limits.').waitFor()
    await page.getByLabel('Peak requests per minute').fill('2000')
    await page.getByRole('button', { name: 'Request an increase' }).click()
    await page.getByText('Pending', { exact: true }).waitFor()
    await becomes(() => page.getByRole('button', { name: 'Request an increase' }).count(), 0)
    await fits(page, 'limits-pending')

    const { requests } = await (await operator.api('/api/operator/limit-requests?status=pending')).json()
    const mine = requests.find((request: { workspace_id: string }) => request.workspace_id === owner.accountId)
    await operator.api(`/api/operator/limit-requests/${mine.id}/approve`, { reason: 'Enjoy.' })
    await page.getByText('Approved', { exact: true }).waitFor()
    await page.getByText('Enjoy.').waitFor()
    await live.getByText(/ of 3,000/).waitFor()
    await left(watched)
  })
})

describe('Operator', () => {
  test('is not for others, until it is claimed with the one-time token, in a form; the token is in no address and not stored', async () => {
    await dashboard.signedIn()
    const watched = await dashboard.visit('/operator')
    const { page } = watched
    await page.getByText('Only operators of this gateway can see this page.').waitFor()
    expect(await page.getByRole('link', { name: 'Operator' }).count()).toBe(0)
    const token = dashboard.gateway.setupToken.issue()
    await page.getByLabel('One-time token').fill('not the token')
    await page.getByRole('button', { name: 'Claim operator rights' }).click()
    await page.getByText('This token is wrong or was already used.').waitFor()
    await fits(page, 'operator-claim')
    await page.getByLabel('One-time token').fill(` ${token} `)
    await page.getByRole('button', { name: 'Claim operator rights' }).click()
    await page.getByRole('heading', { name: 'Requests for higher limits' }).waitFor()
    await page.getByRole('link', { name: 'Operator' }).waitFor()
    expect(await page.evaluate(() => location.href + JSON.stringify({ ...localStorage }))).not.toContain(token)
    expect(dashboard.logged.join()).not.toContain(token)
    await page.close()
    expect(watched.complaints().filter((line) => !line.includes('403'))).toEqual([])
  })

  test('opens a customer, sees why it gets a 402, suspends it with a reason that its owner reads, and corrects a balance', async () => {
    const owner = await dashboard.owner('customer@example.com')
    const made = await (await owner.api('/api/keys', { name: 'laptop', spending_limit: 0.001 })).json()
    await dashboard.as(made.secret, '/apis/v1/websearch/images/search?q=card')
    await as(operator)
    const watched = await dashboard.visit('/')
    const { page } = watched
    await page.getByRole('link', { name: 'Operator' }).click()
    await heading(page, 'Operator')
    await page.getByRole('searchbox', { name: 'Search accounts' }).fill(`${made.key.prefix}…${made.key.last4}`)
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.getByRole('link', { name: 'customer@example.com' }).click()
    await heading(page, 'customer@example.com')
    const requests = page.getByRole('table', { name: 'Requests, newest first' })
    await requests.getByRole('row', { name: /laptop Refused · 402.*limit.*\$0\.00/ }).waitFor()
    await page.getByText('Each key: 60 requests and 60,000 tokens per minute, 5 at once (tier Free).').waitFor()
    await page
      .getByRole('table', { name: 'Grants and debits, newest first' })
      .getByRole('row', { name: /Signup credit.*\$2\.00/ })
      .waitFor()
    await page.getByRole('button', { name: 'Set maximum keys' }).click()
    await page.getByRole('dialog').getByLabel('Maximum live keys').fill('7')
    await page.getByRole('dialog').getByRole('button', { name: 'Maximum live keys' }).click()
    await page.getByText('1 of at most 7 keys.').waitFor()
    await page.getByLabel('Outcome').selectOption('Served (200)')
    await page.getByText('No requests with this outcome.').waitFor()
    await page.getByRole('button', { name: 'Suspend account' }).click()
    const suspending = page.getByRole('dialog', { name: 'Suspend account' })
    await suspending.getByRole('button', { name: 'Suspend account' }).click()
    await suspending.getByText('Enter a reason. The owner sees it.').waitFor()
    await suspending.getByLabel('Reason').fill('Cards of others were used.')
    await suspending.getByRole('button', { name: 'Suspend account' }).click()
    await page.getByText('Cards of others were used.').waitFor()
    await page.getByRole('button', { name: 'Add note' }).click()
    await page.getByRole('dialog').getByLabel('Note').fill('Called us.')
    await page.getByRole('dialog').getByRole('button', { name: 'Add note' }).click()
    await page.getByText('Called us.').waitFor()
    await fits(page, 'operator-account')

    expect(await (await owner.api('/api/account')).text()).toContain('Cards of others were used.')
    await page.getByRole('button', { name: 'Lift suspension' }).click()
    await page.getByRole('dialog').getByLabel('Reason').fill('They were his own.')
    await page.getByRole('dialog').getByRole('button', { name: 'Lift suspension' }).click()
    await page.getByRole('button', { name: 'Suspend account' }).waitFor()
    await page.getByRole('button', { name: 'Actions', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Debit' }).click()
    const debiting = page.getByRole('dialog', { name: 'Debit' })
    await debiting.getByLabel('Amount in USD').fill('0.5')
    await debiting.getByLabel('Reason').fill('A wrong grant')
    await debiting.getByRole('button', { name: 'Debit' }).dblclick()
    await page.getByText('$1.50', { exact: true }).first().waitFor()
    const changes = page.getByRole('table', { name: 'Changes, newest first' })
    const { email } = operator
    await changes.getByRole('row', { name: new RegExp(`Balance debited.*Operator ?${email}`) }).waitFor()
    await follow(page, '/operator/audit')
    await page.getByRole('row', { name: new RegExp(`Balance debited.*Operator ?${email}`) }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Actions', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Remove second factors' }).click()
    const removing = page.getByRole('alertdialog', { name: 'Remove the second factors of customer@example.com?' })
    await removing.getByRole('button', { name: 'Remove second factors' }).click()
    await removing.getByText('has no second factor').waitFor()
    await removing.getByRole('button', { name: 'Cancel' }).click()
    const { id, balance_micros_usd: balance } = await (await owner.api('/api/account')).json()
    expect(balance).toBe(1_500_000)

    await operator.api(`/api/operator/accounts/${id}/suspend`, { reason: 'Others used the cards again.' })
    await as(owner)
    await page.goto(dashboard.origin)
    await page.getByText('Others used the cards again.').first().waitFor()
    await left(watched, [REFUSED, /This account is suspended/])
  })

  test('decides a request, grants credit once, sets limits and prices', async () => {
    const owner = await dashboard.owner('needs.more@example.com')
    const wish = {
      peak_rpm: 900,
      peak_tpm: 1,
      endpoints: ['image-search'],
      use_case: 'Pictures for the whole shop, hourly.',
    }
    await owner.api('/api/limit-requests', wish)
    await as(operator)
    const watched = await dashboard.visit('/operator')
    const { page } = watched
    const waiting = page.getByRole('row').filter({ hasText: 'Pictures for the whole shop' })
    await waiting.waitFor()
    await fits(page, 'operator')
    await waiting.getByRole('button', { name: 'Decline' }).click()
    const declining = page.getByRole('dialog', { name: 'Decline request' })
    await declining.getByRole('button', { name: 'Decline request' }).click()
    await declining.getByText('Enter a reason. The account owner will see it.').waitFor()
    await fits(page, 'operator-decline')
    await declining.getByLabel('Reason').fill('Too little use so far.')
    await declining.getByRole('button', { name: 'Decline request' }).click()
    await page.getByText('Request declined.').waitFor()
    const { requests } = await (await owner.api('/api/limit-requests')).json()
    expect(requests).toMatchObject([{ status: 'declined', reason: 'Too little use so far.' }])

    await page.getByRole('searchbox', { name: 'Search accounts' }).fill('NEEDS.more')
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    const line = page.getByRole('row').filter({ hasText: 'needs.more@example.com' })
    await line.waitFor()
    const act = async (name: string) => {
      await page.getByRole('button', { name: 'Actions for needs.more@example.com' }).click()
      await page.getByRole('menuitem', { name }).click()
      return page.getByRole('dialog', { name })
    }
    const granting = await act('Grant credit')
    await granting.getByRole('button', { name: 'Grant credit' }).click()
    await granting.getByText('Enter an amount such as 25 or 0.5.').waitFor()
    await granting.getByLabel('Amount in USD').fill('12.5')
    await granting.getByRole('button', { name: 'Grant credit' }).dblclick()
    await line.getByText('$14.50', { exact: true }).waitFor()
    const limiting = await act('Set limits')
    await limiting.getByLabel('Requests per minute').fill('1234')
    await limiting.getByRole('button', { name: 'Set limits' }).click()
    await line.getByText('1,234 / 60,000 / 5').waitFor()
    await line.getByText('Enterprise').waitFor()
    const account = await (await owner.api('/api/account')).json()
    expect(account).toMatchObject({ balance_micros_usd: 14_500_000, tier: 'enterprise' })

    await page.getByRole('button', { name: 'Set price' }).click()
    const pricing = page.getByRole('dialog', { name: 'Set price' })
    await pricing.getByLabel('Operation').selectOption('image-search')
    await pricing.getByLabel('Amount in USD').fill('0.004')
    await pricing.getByLabel('One account').check()
    await pricing.getByLabel('Account ID').fill(account.id)
    await pricing.getByRole('button', { name: 'Set price' }).click()
    const price = page.getByRole('row').filter({ hasText: '$0.004' })
    await price.getByText(account.id).waitFor()
    await price.getByRole('button', { name: /^Reset to default/ }).click()
    await price.waitFor({ state: 'detached' })
    await left(watched)
  })
})
