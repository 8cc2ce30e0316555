import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { becomes, type Dashboard, openDashboard, signInCookies } from '../support/dashboard/browser'
import { fits, heading, left } from '../support/dashboard/page-checks'

const PASSWORD = 'correct horse battery'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

type Owner = Awaited<ReturnType<Dashboard['signedIn']>>

async function as(owner: Pick<Owner, 'cookie'>) {
  await dashboard.browser.clearCookies()
  await dashboard.browser.addCookies(signInCookies(owner.cookie, dashboard.origin))
}

/** Invites an address in the page, and returns the link that the dialog shows. */
async function invited(page: Page, email: string, role: string): Promise<string> {
  await page.getByRole('button', { name: 'Invite member' }).click()
  const form = page.getByRole('dialog', { name: 'Invite a member' })
  await form.getByRole('button', { name: 'Send invitation' }).click()
  await form.getByText('Enter an email address.').waitFor()
  await form.getByLabel('Email address').fill(email)
  await form.getByRole('radio', { name: role }).check()
  await form.getByRole('button', { name: 'Send invitation' }).click()
  const shown = page.getByRole('dialog', { name: 'Pass this link on' })
  const link = await shown.getByLabel('Invitation link').inputValue()
  await shown.getByRole('button', { name: 'Close' }).click()
  return link
}

async function act(page: Page, email: string, entry: string) {
  await page.getByRole('button', { name: `Actions on ${email}` }).click()
  await page.getByRole('menuitem', { name: entry }).click()
}

describe('a team', () => {
  test('is invited, joins in another browser, sees what its role shows, switches workspaces, and is removed', async () => {
    const owner = await dashboard.signedIn()
    await owner.api('/api/keys', { name: 'of the owner' })
    const desk = await dashboard.visit('/members')
    await heading(desk.page, 'Members')
    const link = await invited(desk.page, 'dev@example.com', 'Developer')
    await desk.page.getByRole('cell', { name: 'dev@example.com' }).waitFor()
    await fits(desk.page, 'members')
    await left(desk)

    await dashboard.browser.clearCookies()
    const guest = await dashboard.visit(new URL(link).pathname + new URL(link).hash)
    await guest.page.getByText('as Developer.').waitFor()
    expect(guest.page.url()).not.toContain('token')
    await fits(guest.page, 'invite')
    await guest.page.getByRole('link', { name: 'Create an account' }).click()
    await guest.page.getByLabel('Email').fill('dev@example.com')
    await guest.page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await guest.page.getByRole('button', { name: 'Create account' }).click()
    await guest.page.getByRole('button', { name: 'Join workspace' }).click()
    await heading(guest.page, 'Overview')
    const rail = guest.page.getByRole('navigation', { name: 'Pages' })
    await rail.getByRole('link', { name: 'API keys' }).click()
    await guest.page.getByText('No keys yet.').waitFor()
    await becomes(() => rail.getByRole('link', { name: 'Billing' }).count(), 0)
    await guest.page
      .getByRole('button', { name: /Account/ })
      .first()
      .click()
    await guest.page.getByRole('menuitemcheckbox', { name: 'Workspace: dev' }).click()
    await heading(guest.page, 'Overview')
    await rail.getByRole('link', { name: 'Billing' }).waitFor()
    await left(guest, [/401/])

    await as(owner)
    const back = await dashboard.visit('/members')
    await act(back.page, 'dev@example.com', 'Change role')
    const roles = back.page.getByRole('dialog', { name: 'Change the role of dev' })
    await roles.getByRole('radio', { name: 'Billing' }).check()
    await roles.getByRole('button', { name: 'Save' }).click()
    await back.page
      .getByRole('row', { name: /dev@example.com/ })
      .getByText('Billing')
      .waitFor()
    await act(back.page, 'dev@example.com', 'Remove from workspace')
    const sure = back.page.getByRole('alertdialog', { name: 'Remove dev?' })
    await fits(back.page, 'member-remove')
    await sure.getByRole('button', { name: 'Remove from workspace' }).click()
    await becomes(() => back.page.getByText('dev@example.com').count(), 0)
    await left(back)
  })

  test('has a name that its admins change, and an owner who hands it over', async () => {
    const owner = await dashboard.signedIn()
    const { page, complaints } = await dashboard.visit('/members')
    await page.getByLabel('Name').fill('Search team')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Workspace renamed.').waitFor()
    const second = await dashboard.owner('second@example.com')
    const { link } = await (await owner.api('/api/invitations', { email: second.email, role: 'admin' })).json()
    await second.api('/api/invitations/accept', { token: link.split('=')[1] })
    await page.reload()
    await act(page, second.email, 'Make owner')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Make owner' }).click()
    await page
      .getByRole('row', { name: /second@example.com/ })
      .getByText('Owner')
      .waitFor()
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('gives members budgets, now and for who joins later; a used one shows, and a raise lets calls through', async () => {
    const owner = await dashboard.signedIn()
    const { page, complaints } = await dashboard.visit('/members')
    await page.getByRole('button', { name: 'Budgets of new members' }).click()
    const first = page.getByRole('dialog', { name: 'Budgets of new members' })
    await first.getByLabel('Per month', { exact: true }).fill('0.005')
    await first.getByRole('button', { name: 'Save budgets' }).click()
    await page.getByText('Budgets saved.').waitFor()
    const dev = await dashboard.owner('spender@example.com')
    const { link } = await (await owner.api('/api/invitations', { email: dev.email, role: 'developer' })).json()
    const joined = await (await dev.api('/api/invitations/accept', { token: link.split('=')[1] })).json()
    await dev.api(`/api/workspaces/${joined.id}/show`, {})
    const { secret } = await (await dev.api('/api/keys', { name: 'of the spender' })).json()
    const call = async () => (await dashboard.as(secret, '/apis/v1/websearch/images/search?q=card')).status
    expect([await call(), await call()]).toEqual([200, 429])
    await page.reload()
    const spender = page.getByRole('row', { name: /spender@example.com/ })
    await spender.getByText('$0.005 of $0.005 this month').waitFor()
    await act(page, dev.email, 'Change budgets')
    const form = page.getByRole('dialog', { name: /^Budgets of/ })
    await form.getByRole('button', { name: 'Raise for a while per month' }).click()
    await form.getByLabel('Raise by per month').fill('0.005')
    await form.getByRole('button', { name: 'Save budgets' }).click()
    await form.getByText(/^Per month: enter the amount to raise it by, and a last day/).waitFor()
    await form.getByLabel('Until the end of per month').fill('2099-01-01')
    await fits(page, 'member-budgets')
    await form.getByRole('button', { name: 'Save budgets' }).click()
    await spender.getByText('$0.005 of $0.01 this month').waitFor()
    expect([await call(), await call()]).toEqual([200, 429])
    await fits(page, 'members-budgets')

    await page.getByRole('link', { name: 'API keys' }).click()
    const key = page.getByRole('row', { name: /of the spender/ })
    await page.getByRole('columnheader', { name: 'Belongs to' }).waitFor()
    await page.getByRole('button', { name: 'Actions for of the spender' }).click()
    await page.getByRole('menuitem', { name: 'Give key' }).click()
    const give = page.getByRole('dialog', { name: 'Give key "of the spender" to' })
    await becomes(() => give.getByLabel(/spender@example.com/).isChecked(), true)
    await give.getByLabel('The workspace').check()
    await fits(page, 'key-give')
    await give.getByRole('button', { name: 'Give key' }).click()
    await key.getByText('The workspace').waitFor()
    expect(await call()).toBe(200)
    await key.getByRole('link', { name: 'of the spender' }).click()
    await heading(page, 'of the spender')
    await page.getByText('Belongs to').waitFor()
    await page.close()
    expect(complaints()).toEqual([])
  })
})
