import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { OutboundFetch } from '../../server/core/outbound/outbound-fetch'
import { ok } from '../../server/core/result'
import { oauthApp, REDIRECT } from '../support/agents/oauth'
import { becomes, type Dashboard, openDashboard, PHONE, screenshot, signInCookies } from '../support/dashboard/browser'
import { fits, heading, left, REFUSED } from '../support/dashboard/page-checks'
import { openMailbox } from '../support/mailbox'

const PASSWORD = 'correct horse battery'
/** An app whose id is the URL of the document in which it describes itself. */
const PUBLISHED_APP = 'https://editor.example/apps/editor.json'

const published: OutboundFetch = async ({ url }) =>
  ok({
    url,
    status: url === PUBLISHED_APP ? 200 : 404,
    contentType: 'application/json',
    headers: new Headers(),
    body: new TextEncoder().encode(
      JSON.stringify({
        client_id: PUBLISHED_APP,
        client_name: 'Accounts of bank.example',
        redirect_uris: [REDIRECT],
        logo_uri: 'https://editor.example/logo.svg',
      }),
    ),
  })

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard({ outbound: published })
  // The first account is the operator, who may not leave.
  await dashboard.owner()
})
afterAll(() => dashboard.close())

describe('Settings', () => {
  test('asks for the password again if the sign-in is not recent, and continues; a new password signs out elsewhere only', async () => {
    const owner = await dashboard.signedIn()
    const watched = await dashboard.visit('/settings')
    const { page } = watched
    await page.getByLabel('New email address').fill('moved@example.com')
    await dashboard.core.stores.db.run('UPDATE identity_session SET created_at = created_at - 700000')
    await page.getByRole('button', { name: 'Change email' }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
    await dialog.waitFor()
    await screenshot(page, 'recent-sign-in')
    expect(await dialog.getByLabel('Email').inputValue()).toBe(owner.email)
    await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.waitFor({ state: 'detached' })
    await becomes(() => page.getByLabel('New email address').inputValue(), 'moved@example.com')
    await page.getByRole('button', { name: 'Change email' }).click()
    await page.getByText('You sign in with moved@example.com.').waitFor()

    await page.getByLabel('Current password').fill('wrong wrong wrong')
    await page.getByLabel('New password', { exact: true }).fill('another horse battery')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('The current password is wrong.').waitFor()
    await page.getByLabel('Current password').fill(PASSWORD)
    // The sign-in is too old for this: the password that is typed here is not asked for again.
    await dashboard.core.stores.db.run('UPDATE identity_session SET created_at = created_at - 700000')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('Password changed. Other sessions were signed out.').waitFor()
    expect((await owner.api('/api/account')).status).toBe(401)
    const again = await dashboard.call('/api/auth/sign-in/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'curl/8.14.1' },
      body: JSON.stringify({ email: 'moved@example.com', password: 'another horse battery' }),
    })
    expect(again.status).toBe(200)
    await page.reload()
    await page.getByRole('row').filter({ hasText: 'curl' }).getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('Session signed out.').waitFor()
    await page.getByRole('row').filter({ hasText: 'curl' }).waitFor({ state: 'detached' })
    await page.getByRole('row').filter({ hasText: 'This session' }).getByText('Chrome on Linux').waitFor()
    await left(watched, [REFUSED])
  })

  test('an app whose id is a URL is shown with the host that publishes it, whatever it calls itself', async () => {
    const owner = await dashboard.signedIn()
    const app = oauthApp(dashboard, owner)
    const { pathname, search } = app.authorizeUrl({ client_id: PUBLISHED_APP }).url
    const watched = await dashboard.visit(pathname + search)
    const { page } = watched
    await page.getByRole('heading', { name: /Accounts of bank\.example/ }).waitFor()
    await page.getByText("This app's details are published by editor.example", { exact: true }).waitFor()
    await page.getByText('Afterwards you will be redirected to http://127.0.0.1:7777', { exact: true }).waitFor()
    expect(await page.getByRole('main').locator('img, a[href*="editor.example"]').count()).toBe(0)
    await page.getByText(`You are signed in as ${owner.email}. Charges are paid from your balance of $2.00.`).waitFor()
    expect(await page.getByLabel('Spending limit (USD)').inputValue()).toBe('5')
    await fits(page, 'consent-published-app')
    expect(watched.complaints()).toEqual([])

    await page.route(`${REDIRECT}?**`, (route) => route.fulfill({ body: 'Back in the editor' }))
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('Back in the editor').waitFor()
    expect(new URL(page.url()).searchParams.get('code')).toBeTruthy()

    // An app without such a document. An owner who chose "no limit" for it gets no proposal when it asks again.
    const { body } = await app.register()
    const asking = app.authorizeUrl({ client_id: String(body['client_id']), prompt: 'consent' }).url.href
    await page.goto(asking)
    await page.getByRole('heading', { name: /A test app/ }).waitFor()
    expect(await page.getByText('What this app says about itself').count()).toBe(0)
    const limit = page.getByLabel('Spending limit (USD)')
    expect(await limit.inputValue()).toBe('5')
    await limit.fill('')
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('Back in the editor').waitFor()
    await page.goto(asking)
    expect(await limit.inputValue()).toBe('')
    await left(watched, [/^asked http:\/\/127\.0\.0\.1:7777/])
  })

  test('signing out all others asks about apps too: they lose their access unless the owner keeps them', async () => {
    const owner = await dashboard.signedIn()
    const app = oauthApp(dashboard, owner)
    const elsewhere = () =>
      dashboard.call('/api/auth/sign-in/email', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': 'curl/8.14.1' },
        body: JSON.stringify({ email: owner.email, password: PASSWORD }),
      })
    const tokens = await app.connect('usage:read offline_access', ['/v1'])
    const works = async () => (await dashboard.as(tokens.access_token, '/v1/whoami')).status
    await elsewhere()
    const watched = await dashboard.visit('/settings')
    const { page } = watched
    await page.getByLabel('Also disconnect the connected app').waitFor()
    const ask = async () => {
      await page.getByRole('button', { name: 'Sign out all other sessions' }).click()
      return page.getByRole('alertdialog', { name: 'Sign out all other sessions' })
    }
    const kept = await ask()
    await kept.getByLabel('Also disconnect the connected app').uncheck()
    await fits(page, 'settings-apps-too')
    await kept.getByRole('button', { name: 'Sign out all other sessions' }).click()
    await page.getByText('One session signed out.', { exact: true }).waitFor()
    expect(await works()).toBe(200)
    await elsewhere()
    await page.reload()
    const ended = await ask()
    expect(await ended.getByLabel('Also disconnect the connected app').isChecked()).toBe(true)
    await ended.getByRole('button', { name: 'Sign out all other sessions' }).click()
    await page.getByText('One session signed out. One app disconnected.').waitFor()
    expect(await works()).toBe(401)
    await becomes(() => page.getByLabel('Also disconnect the connected app').count(), 0)
    await left(watched)
  })

  test('disconnecting an app lists the keys that it created, ticked to be revoked, and keeps those that the owner unticks', async () => {
    const owner = await dashboard.signedIn()
    const { access_token: token } = await oauthApp(dashboard, owner).connect('keys:write offline_access', ['/v1'])
    const make = async (name: string) => {
      const body = JSON.stringify({ name })
      const headers = { 'content-type': 'application/json' }
      return (await (await dashboard.as(token, '/v1/keys', { method: 'POST', headers, body })).json()).secret as string
    }
    const secrets = [await make('nightly crawl'), await make('a'.repeat(64))]
    const watched = await dashboard.visit('/apps')
    const { page } = watched
    await page.getByRole('button', { name: /^Disconnect: / }).click()
    const dialog = page.getByRole('alertdialog')
    const keys = dialog.getByRole('group', { name: 'Revoke the API keys that it created' })
    await becomes(() => keys.getByRole('checkbox', { checked: true }).count(), 2)
    await keys.getByLabel('nightly crawl').uncheck()
    await fits(page, 'apps-disconnect')
    await dialog.getByRole('button', { name: 'Disconnect', exact: true }).click()
    await page.getByText('disconnected.').first().waitFor()
    const statuses = await Promise.all(secrets.map(async (secret) => (await dashboard.as(secret, '/v1/whoami')).status))
    expect(statuses).toEqual([200, 401])
    await left(watched)
  })

  test('exports everything as a file, and deletes the account after saying what is forfeited', async () => {
    const owner = await dashboard.signedIn()
    const watched = await dashboard.visit('/settings')
    const { page } = watched
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Export my data' }).click()
    const file = await download
    expect(file.suggestedFilename()).toBe('gateway-account.json')
    expect(JSON.parse(await Bun.file(await file.path()).text())).toMatchObject({ account: { email: owner.email } })
    await page.getByRole('button', { name: 'Delete account' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Delete account' })
    await dialog.getByText('You forfeit your balance of $2.00').waitFor()
    await fits(page, 'settings-delete')
    await dialog.getByRole('button', { name: 'Delete account' }).click()
    await dialog.getByText('This does not match your email address.').waitFor()
    await dialog.getByLabel(`Type ${owner.email} to confirm`).fill(owner.email)
    await dialog.getByRole('button', { name: 'Delete account' }).click()
    await heading(page, 'Sign in')
    await page.getByText('Your account was deleted. Your keys have stopped').waitFor()
    expect((await owner.api('/api/account')).status).toBe(401)
    await left(watched, [REFUSED])
  })
})

describe('a forgotten password', () => {
  test("without mail shows the operator's command, whose link sets a new one, once", async () => {
    const owner = await dashboard.owner()
    await dashboard.browser.clearCookies()
    const watched = await dashboard.visit('/sign-in')
    const { page } = watched
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await heading(page, 'Forgot your password?')
    await page.getByLabel('Email').fill(owner.email)
    await page.getByRole('button', { name: 'Send link' }).click()
    await page.getByText(`bun run gateway operator reset-link ${owner.email}`).waitFor()
    await fits(page, 'forgot-password')
    const answer = await dashboard.control(
      `/accounts/${(await (await owner.api('/api/account')).json()).id}/reset-link`,
      {},
    )
    const { link } = (await answer.json()) as { link: string }
    const { pathname, hash } = new URL(link)
    for (const outcome of ['set', 'over']) {
      const opened = await dashboard.visit(pathname + hash)
      await heading(opened.page, 'Set a new password')
      expect(opened.page.url()).not.toContain('token')
      await opened.page.getByLabel('New password', { exact: true }).fill('a quite new horse battery')
      if (outcome === 'set') await fits(opened.page, 'reset-password')
      await opened.page.getByRole('button', { name: 'Set password' }).click()
      await opened.page
        .getByText(outcome === 'set' ? 'Your new password is set.' : 'This link has expired or was already used.')
        .waitFor()
      await left(opened, [REFUSED])
    }
    const signedIn = await dashboard.call('/api/auth/sign-in/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: owner.email, password: 'a quite new horse battery' }),
    })
    expect(signedIn.status).toBe(200)
    await left(watched, [REFUSED])
  })
})

describe('where the gateway sends email', () => {
  test('an owner chooses by keyboard, also on a phone, which notices are mailed', async () => {
    const mailbox = await openMailbox()
    const mailing = await openDashboard({ env: { SMTP_URL: mailbox.url, MAIL_FROM: 'gateway@example.com' } })
    try {
      const owner = await mailing.owner(undefined, undefined, async () => {
        const token = /#token=([\w.-]+)/.exec((await mailbox.next()).text)?.[1]
        await mailing.call('/api/settings/email/confirm', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ token }),
        })
      })
      await mailing.browser.addCookies(signInCookies(owner.cookie, mailing.origin))
      const choice = async () => (await owner.api('/api/notices/mail')).json()
      const watched = await mailing.visit('/settings')
      const { page } = watched
      const low = page.getByLabel('Balance is low')
      await low.waitFor()
      await fits(page, 'settings-email-notices')
      expect(await low.isChecked()).toBe(true)
      expect(await page.getByLabel('Sign-in from a new browser').count()).toBe(0)
      await page.setViewportSize(PHONE)
      await low.focus()
      await page.keyboard.press('Space')
      await page.getByLabel('API key created').focus()
      await page.keyboard.press('Space')
      await page.getByLabel('Also email me a summary of my spend').focus()
      await page.keyboard.press('Space')
      await page.getByRole('button', { name: 'Save email notices' }).focus()
      await page.keyboard.press('Enter')
      await page.getByText('Email notices saved.').waitFor()
      const { kinds, weekly_summary: weekly } = await choice()
      expect(weekly).toBe(true)
      expect(kinds).toContain('key.created')
      expect(kinds).not.toContain('balance.low')
      await page.reload()
      await low.waitFor()
      expect([await low.isChecked(), await page.getByLabel('API key created').isChecked()]).toEqual([false, true])
      await left(watched)
    } finally {
      await mailing.close()
      await mailbox.close()
    }
  })
})
