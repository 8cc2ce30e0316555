import { expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SessionList, SettingsRecord } from '../../../server/http/account/settings-record'
import { totp } from '../../support/agents/totp'
import { olderDatabase } from '../../support/databases/older-database'
import { openHarness } from '../../support/harness'
import { openMailbox } from '../../support/mailbox'
import { type AccountBody, closeReconciled, read } from '../owner-bench'

const PASSWORD = 'correct horse battery'
const ACCOUNT = 'acct_01a1fdfa942070018c603d2632ddc21b'
const LONG_AGO = Date.UTC(2026, 9, 1)

/** A database from before signup credits had brakes and sign-ins had second factors, with one owner. */
async function olderFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-accounts-'))
  const password = `salt:${new Bun.CryptoHasher('sha256', 'salt').update(PASSWORD).digest('hex')}`
  await olderDatabase(folder, '0026_signup_credits', async (client) => {
    await client.batch([
      `INSERT INTO identity_user (id, name, email, email_verified, created_at, updated_at) VALUES ('u1', 'Ada', 'ada@example.com', 0, ${LONG_AGO}, ${LONG_AGO})`,
      `INSERT INTO identity_account (id, account_id, provider_id, user_id, password, created_at, updated_at) VALUES ('c1', 'u1', 'credential', 'u1', '${password}', ${LONG_AGO}, ${LONG_AGO})`,
      `INSERT INTO identity_session (id, expires_at, token, created_at, updated_at, user_id) VALUES ('s1', ${Date.now() + 1e9}, 'hmac:x', ${LONG_AGO}, ${LONG_AGO}, 'u1')`,
      `INSERT INTO accounts (id, user_id, operator, credit, created_at) VALUES ('${ACCOUNT}', 'u1', 0, 2000000, ${LONG_AGO})`,
      `INSERT INTO entries (transaction_id, kind, account_id, debit, credit, amount, at, description, reference) VALUES ('txn_1', 'signup_credit', '${ACCOUNT}', 'gateway/grants', '${ACCOUNT}/credit', 2000000, ${LONG_AGO}, 'Signup credit', 'signup_credit:u1')`,
    ])
  })
  return folder
}

test('an owner from before the brakes and second factors enters without a confirmation, keeps the credit and gets no second one', async () => {
  const mailbox = await openMailbox()
  const env = { SMTP_URL: mailbox.url, MAIL_FROM: 'gateway@example.com' }
  const gateway = await openHarness({ folder: await olderFolder(), env })
  const signIn = () =>
    gateway.call('/api/auth/sign-in/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password: PASSWORD }),
    })
  const answer = await signIn()
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  const api = (path: string, body?: unknown) =>
    gateway.call(path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { cookie, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  const before = await read<AccountBody & { signup_credit: string }>(api('/api/account'))
  expect(before).toMatchObject({ id: ACCOUNT, balance_micros_usd: 2_000_000, signup_credit: 'granted' })
  for (let i = 0; i < 3; i++) expect(await gateway.core.signUp.confirm('u1')).toBe(true)
  expect((await read<AccountBody>(api('/api/account'))).balance_micros_usd).toBe(2_000_000)
  const { sessions } = await read<SessionList>(api('/api/settings/sessions'))
  expect(sessions.find(({ id }) => id === 's1')).toMatchObject({ last_seen_at: null, second_factor: false })
  expect((await read<SettingsRecord>(api('/api/settings'))).second_factor).toMatchObject({ app: false, passkeys: 0 })
  const { totpURI } = await read<{ totpURI: string }>(api('/api/auth/two-factor/enable', { password: PASSWORD }))
  expect((await api('/api/auth/two-factor/verify-totp', { code: totp(totpURI) })).status).toBe(200)
  expect(await read<unknown>(signIn())).toMatchObject({ twoFactorRedirect: true })
  await closeReconciled(gateway)
  await mailbox.close()
})
