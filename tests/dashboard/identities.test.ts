import { afterAll, beforeAll, test } from 'bun:test'
import { type Dashboard, follow, openDashboard } from '../support/dashboard/browser'
import { fits, heading } from '../support/dashboard/page-checks'
import { CLIENT, OidcIssuer } from '../support/doubles/oidc-issuer'

let issuer: OidcIssuer
let dashboard: Dashboard
beforeAll(async () => {
  issuer = new OidcIssuer()
  dashboard = await openDashboard({
    baseUrl: (port) => `http://localhost:${port}`,
    env: {
      SIGN_IN_ALLOW_PRIVATE: 'true',
      SIGN_IN_OIDC_ISSUER: issuer.issuer,
      SIGN_IN_OIDC_CLIENT_ID: CLIENT.id,
      SIGN_IN_OIDC_CLIENT_SECRET: CLIENT.secret,
      SIGN_IN_OIDC_NAME: 'Example ID',
    },
  })
})
afterAll(async () => {
  await dashboard.close()
  await issuer.stop()
})

test('an identity signs up, is linked by a user with a password, signs in, and is unlinked', async () => {
  await dashboard.owner()
  await dashboard.browser.clearCookies()
  issuer.person = { sub: 'ada', name: 'Ada', email: 'ada@corp.example', email_verified: true }
  const { page: signUp } = await dashboard.visit('/sign-up')
  await signUp.getByRole('button', { name: 'Continue with Example ID' }).waitFor()
  await fits(signUp, 'sign-up-providers')
  await signUp.getByRole('button', { name: 'Continue with Example ID' }).click()
  await signUp.waitForURL('**/welcome')
  await signUp.close()

  // The address of a user with a password is not taken over.
  const owner = await dashboard.signedIn()
  issuer.person = { sub: 'grace', name: 'Grace', email: owner.email, email_verified: true }
  await dashboard.browser.clearCookies()
  const { page } = await dashboard.visit('/sign-in?to=%2Fkeys')
  await page.getByRole('button', { name: 'Continue with Example ID' }).click()
  await page.getByText('An account with this email address already exists.').waitFor()
  await fits(page, 'sign-in-not-linked')

  await page.getByLabel('Email').fill(owner.email)
  await page.getByLabel('Password', { exact: true }).fill('correct horse battery')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await heading(page, 'API keys')
  await follow(page, '/settings')
  await page.getByRole('button', { name: 'Link Example ID', exact: true }).click()
  await page.getByRole('button', { name: 'Unlink Example ID' }).waitFor()
  await fits(page, 'settings-identities')

  await dashboard.browser.clearCookies()
  await page.goto(`${dashboard.origin}/sign-in?to=%2Fkeys`)
  await page.getByRole('button', { name: 'Continue with Example ID' }).click()
  await heading(page, 'API keys')
  await follow(page, '/settings')
  await page.getByRole('button', { name: 'Unlink Example ID' }).click()
  await page.getByText('Unlinked. It no longer signs you in.').waitFor()
  await page.getByRole('button', { name: 'Unlink Example ID' }).waitFor({ state: 'detached' })
})
