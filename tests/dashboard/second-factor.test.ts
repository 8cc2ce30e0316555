import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { totp } from '../support/agents/totp'
import { type Dashboard, follow, openDashboard } from '../support/dashboard/browser'
import { fits, heading, left, REFUSED } from '../support/dashboard/page-checks'

const PASSWORD = 'correct horse battery'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard({ baseUrl: (port) => `http://localhost:${port}` })
})
afterAll(() => dashboard.close())

/** At the page for it, where a sign-out ends. */
async function signIn(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** From any page, by the menu of the account: to show the Settings page first costs three times as much. */
async function signOut(page: Page, email: string): Promise<void> {
  await page.getByRole('button', { name: email }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await heading(page, 'Sign in')
}

/** Sets up an app on the Settings page; returns its link and the recovery codes. `look`: checks what its dialog shows. */
async function setUpApp(page: Page, look: typeof fits): Promise<{ link: string; codes: string[] }> {
  await page.getByRole('button', { name: 'Set up app' }).click()
  await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('img', { name: 'QR code for your authenticator app' }).waitFor()
  const key = await page.getByRole('region', { name: 'Key' }).textContent()
  const link = `otpauth://totp/x?secret=${key?.trim()}`
  await look(page, 'second-factor-set-up')
  await page.getByLabel('Code from the app').fill('12')
  await page.getByRole('button', { name: 'Confirm code' }).click()
  await page.getByText('Enter the six digits that the app shows.').waitFor()
  await page.getByLabel('Code from the app').fill(totp(link))
  await page.getByRole('button', { name: 'Confirm code' }).click()
  const shown = page.getByRole('region', { name: 'Save your recovery codes' })
  await shown.waitFor()
  await look(page, 'second-factor-codes')
  const codes = ((await shown.textContent()) ?? '').trim().split('\n')
  await page.getByRole('button', { name: 'I have saved these codes' }).click()
  await page.getByText('On. 10 recovery codes left.').waitFor()
  return { link, codes }
}

describe('a second factor', () => {
  test('is set up, asked for at the next sign-in, lost with its device, and recovered: by a code, then by the operator', async () => {
    await dashboard.owner()
    const owner = await dashboard.signedIn()
    const watched = await dashboard.visit('/settings')
    const { page } = watched
    await heading(page, 'Settings')
    const { link, codes } = await setUpApp(page, fits)
    expect(codes).toHaveLength(10)
    await fits(page, 'settings-second-factor')

    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out everywhere' }).click()
    await heading(page, 'Sign in')
    await signIn(page, owner.email)
    await page.getByText('Enter the code from your authenticator app.').waitFor()
    await fits(page, 'sign-in-code')
    await page.getByLabel('Code from the app').fill('000000')
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Code from the app').fill(totp(link, 1))
    await page.getByRole('button', { name: 'Verify' }).click()
    await heading(page, 'Overview')

    // The device is lost.
    await signOut(page, owner.email)
    await signIn(page, owner.email)
    await page.getByRole('button', { name: 'Use a recovery code' }).click()
    await fits(page, 'sign-in-recovery')
    await page.getByLabel('Recovery code').fill(codes[0] ?? '')
    await page.getByRole('button', { name: 'Verify' }).click()
    await heading(page, 'Overview')
    await follow(page, '/settings')
    await page.getByText('On. 9 recovery codes left.').waitFor()

    // So are the codes.
    const reset = await dashboard.control(`/accounts/${owner.accountId}/second-factor-reset`, {})
    expect(reset.status).toBe(200)
    await page.goto(`${dashboard.origin}/sign-in`)
    await signIn(page, owner.email)
    await heading(page, 'Overview')
    await follow(page, '/settings')
    await page.getByText('Not set up.').waitFor()
    await left(watched, [REFUSED])
  })
})

describe('a passkey', () => {
  test('is added, signs in without the password, also as the second factor, and is removed', async () => {
    const owner = await dashboard.signedIn()
    const watched = await dashboard.visit('/settings')
    const { page } = watched
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByRole('button', { name: 'Remove passkey Chrome on Linux' }).waitFor()
    await fits(page, 'settings-passkey')
    await signOut(page, owner.email)
    await fits(page, 'sign-in-passkey')
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await heading(page, 'Overview')

    // The password alone may look, but sets up no other factor.
    await signOut(page, owner.email)
    await signIn(page, owner.email)
    await heading(page, 'Overview')
    await follow(page, '/settings')
    await page.getByRole('button', { name: 'Set up app' }).click()
    const asked = page.getByRole('dialog')
    await asked.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Continue' }).click()
    await asked.getByText('requires a sign-in with your second factor').waitFor()
    await fits(page, 'settings-second-factor-required')
    await asked.getByRole('button', { name: 'Sign in again' }).click()
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor({ state: 'detached' })

    await page.keyboard.press('Escape')
    await asked.waitFor({ state: 'detached' })
    await setUpApp(page, async () => undefined)
    await signOut(page, owner.email)
    await signIn(page, owner.email)
    await page.getByText('Enter the code from your authenticator app.').waitFor()
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await heading(page, 'Overview')

    // One that does not verify its user is a thing that was found, not its owner.
    await signOut(page, owner.email)
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByRole('alert').waitFor()
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await heading(page, 'Overview')
    await follow(page, '/settings')
    await page.getByRole('button', { name: 'Remove passkey Chrome on Linux' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('No passkeys yet.').waitFor()
    await left(watched, [REFUSED])
  })
})
