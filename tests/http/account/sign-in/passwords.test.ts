import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eventSource } from '../../../support/agents/event-source'
import { type Harness, openHarness } from '../../../support/harness'
import { openMailbox } from '../../../support/mailbox'
import { until } from '../../../support/until'
import { type AccountBody, auditRows, closeReconciled, type Owner, read, refusalOf } from '../../owner-bench'

const NEW = 'another horse battery'
const OLD = 'correct horse battery'

let mailbox: Awaited<ReturnType<typeof openMailbox>>
let gateway: Harness
let silent: Harness
beforeAll(async () => {
  mailbox = await openMailbox()
  gateway = await openHarness({ env: { SMTP_URL: mailbox.url, MAIL_FROM: 'Gateway <gateway@example.com>' } })
  silent = await openHarness()
})
afterAll(async () => {
  await closeReconciled(gateway)
  await closeReconciled(silent)
  await mailbox.close()
})

const post = (where: Harness, path: string, body: unknown, headers = {}) =>
  where.call(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
const signIn = async (where: Harness, email: string, password: string) => {
  const { status } = await post(where, '/api/auth/sign-in/email', { email, password })
  // The owner is notified of a sign-in without the cookie of an earlier one.
  if (status === 200 && where === gateway) expect((await mailbox.next()).text).toContain('have not seen before')
  return status
}
const forget = (email: string) => post(gateway, '/api/auth/request-password-reset', { email })
const reset = (token: string, newPassword = NEW, where = gateway) =>
  post(where, '/api/auth/reset-password', { token, newPassword })
const tokenIn = (text: string) => /#token=([\w.-]+)/.exec(text)?.[1] ?? ''
/** An owner who confirmed their address. */
const confirmed = () => gateway.owner(undefined, undefined, async () => void (await confirmation()))
const confirmation = async () =>
  read(post(gateway, '/api/settings/email/confirm', { token: tokenIn((await mailbox.next()).text) }))
const accountOf = (who: Owner) => read<AccountBody>(who.api('/api/account'))

describe('a forgotten password', () => {
  test('is reset with the mailed link: once, ending every session, with an audit row', async () => {
    const owner = await confirmed()
    const { id } = await accountOf(owner)
    const stream = eventSource(await gateway.call('/api/events', { headers: { cookie: owner.cookie } }))
    await stream.nextOf('ping')
    await read(forget(owner.email))
    const mail = await mailbox.next()
    expect(mail.to).toBe(owner.email)
    expect(mail.text).toContain(`${gateway.config.baseUrl}/reset-password#token=`)
    const token = tokenIn(mail.text)
    await read(reset(token))
    expect(await stream.rest()).toEqual([])
    expect((await owner.api('/api/account')).status).toBe(401)
    expect(await signIn(gateway, owner.email, OLD)).toBe(401)
    expect(await signIn(gateway, owner.email, NEW)).toBe(200)
    expect(await refusalOf(reset(token, 'a third horse battery'))).toMatchObject({ status: 400, code: 'invalid_token' })
    const rows = (await auditRows(gateway)).filter((row) => row.account_id === id)
    expect(rows.slice(-2).map(({ action }) => action)).toEqual(['account.password_reset', 'account.new_browser'])
  })

  test('of an unknown address gets the same answer, and no mail is sent', async () => {
    const owner = await confirmed()
    const known = await forget(owner.email)
    const unknown = await forget('nobody@example.com')
    expect([known.status, await known.text()]).toEqual([unknown.status, await unknown.text()])
    expect((await mailbox.next()).to).toBe(owner.email)
    expect(mailbox.received).toEqual([])
  })

  test('gets the same answer when the mail server is down, and the failure is in the log without the link', async () => {
    const owner = await confirmed()
    mailbox.refuse(true)
    expect((await forget(owner.email)).status).toBe(200)
    await until(() => gateway.logged.some((line) => line.includes('reset mail')))
    mailbox.refuse(false)
    expect(gateway.logged.join('')).not.toContain('token=')
  })

  test.each([['x'], [''], ['0'.repeat(24)]])('cannot be reset with the token %j', async (token) => {
    expect((await refusalOf(reset(token))).status).toBe(400)
  })

  test('can be requested at most five times a minute, with the correct wait', async () => {
    gateway.clock.advance(60_000)
    const answers: number[] = []
    for (let i = 0; i < 6; i++) answers.push((await forget('nobody@example.com')).status)
    expect(answers).toEqual([200, 200, 200, 200, 200, 429])
    gateway.clock.advance(20_000)
    const answer = await forget('nobody@example.com')
    expect(answer.headers.get('retry-after')).toBe('40')
    gateway.clock.advance(40_000)
    expect((await forget('nobody@example.com')).status).toBe(200)
  })

  test('without mail is refused with the reason, and the operator issues a link that works once', async () => {
    const owner = await silent.owner()
    expect(await refusalOf(post(silent, '/api/auth/request-password-reset', { email: owner.email }))).toMatchObject({
      status: 409,
      code: 'invalid_state',
    })
    const answer = await silent.control(
      `/accounts/${(await (await owner.api('/api/account')).json()).id}/reset-link`,
      {},
    )
    const { link } = await read<{ link: string }>(answer)
    expect(link).toStartWith(`${silent.config.baseUrl}/reset-password#token=`)
    await read(reset(tokenIn(link), NEW, silent))
    expect(await signIn(silent, owner.email, NEW)).toBe(200)
    const actions = (await auditRows(silent)).map(({ action }) => action)
    expect(actions.slice(-3)).toEqual(['account.reset_link', 'account.password_reset', 'account.new_browser'])
    expect(silent.logged.join('')).not.toContain(tokenIn(link))
    expect(JSON.stringify(await auditRows(silent))).not.toContain(tokenIn(link))
  })
})

describe('a password', () => {
  const change = (who: Owner, body: unknown = { currentPassword: OLD, newPassword: NEW }) =>
    who.api('/api/auth/change-password', body)

  test('can be changed within ten minutes of the sign-in: other sessions end, this one is replaced, and an audit row is added', async () => {
    const owner = await confirmed()
    const { id } = await accountOf(owner)
    gateway.clock.advance(600_000)
    const answer = await change(owner)
    expect(answer.status).toBe(200)
    const cookie = (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? ''
    expect(cookie).not.toBe(owner.cookie)
    expect((await owner.api('/api/account')).status).toBe(401)
    expect((await gateway.call('/api/account', { headers: { cookie } })).status).toBe(200)
    expect((await auditRows(gateway)).filter((row) => row.account_id === id).at(-1)).toMatchObject({
      action: 'account.password',
      actor_kind: 'owner',
      address: '127.0.0.1',
      detail: '{}',
    })
  })

  test('cannot be changed later, nor with a wrong one, and then no audit row is added', async () => {
    const owner = await confirmed()
    const before = await auditRows(gateway)
    expect((await change(owner, { currentPassword: 'wrong wrong wrong', newPassword: NEW })).status).toBe(400)
    gateway.clock.advance(600_001)
    expect(await refusalOf(change(owner))).toMatchObject({ status: 401, code: 'recent_sign_in_required' })
    expect(await auditRows(gateway)).toEqual(before)
    expect(await signIn(gateway, owner.email, OLD)).toBe(200)
  })
})

describe('an email address', () => {
  const ask = (who: Owner, email: unknown) => who.api('/api/settings/email', { email })
  const confirm = (token: string, headers = {}) => post(gateway, '/api/settings/email/confirm', { token }, headers)

  test('changes once its reader confirms it; the old address is notified', async () => {
    const owner = await confirmed()
    expect(await read<unknown>(ask(owner, ' New.Ada@Example.com '))).toEqual({ outcome: 'sent' })
    expect(await accountOf(owner)).toMatchObject({ email: owner.email })
    const mail = await mailbox.next()
    expect(mail.to).toBe('new.ada@example.com')
    const token = tokenIn(mail.text)
    expect(await read<unknown>(confirm(token))).toEqual({ email: 'new.ada@example.com' })
    expect((await mailbox.next()).to).toBe(owner.email)
    expect(await signIn(gateway, 'new.ada@example.com', OLD)).toBe(200)
    expect(await signIn(gateway, owner.email, OLD)).toBe(401)
    expect((await owner.api('/api/account')).status).toBe(200)
    expect(await refusalOf(confirm(token))).toMatchObject({ status: 409, code: 'invalid_state' })
    expect((await auditRows(gateway)).at(-2)).toMatchObject({
      action: 'account.email',
      before: JSON.stringify({ email: owner.email }),
      detail: '{"email":"new.ada@example.com"}',
    })
  })

  test('that another account has gets the same answer, and is not taken over on confirmation', async () => {
    const [owner, other] = [await confirmed(), await confirmed()]
    expect(await read<unknown>(ask(owner, other.email))).toEqual({ outcome: 'sent' })
    expect(await refusalOf(confirm(tokenIn((await mailbox.next()).text)))).toMatchObject({ status: 409 })
    expect(await signIn(gateway, other.email, OLD)).toBe(200)
  })

  test('is not changed by a forged, old or foreign confirmation', async () => {
    const owner = await confirmed()
    await read(ask(owner, 'late@example.com'))
    const token = tokenIn((await mailbox.next()).text)
    const [payload = '', signature = ''] = token.split('.')
    const forged = Buffer.from(payload, 'base64url').toString().replace('late@', 'evil@')
    for (const wrong of ['', 'x', payload, `${payload}.`, `${Buffer.from(forged).toString('base64url')}.${signature}`])
      expect((await refusalOf(confirm(wrong))).status).toBe(409)
    expect((await refusalOf(confirm(token, { origin: 'https://evil.example' }))).code).toBe('foreign_origin')
    gateway.clock.advance(24 * 3_600_000 + 1)
    expect((await refusalOf(confirm(token))).status).toBe(409)
    expect(await signIn(gateway, owner.email, OLD)).toBe(200)
  })

  test('is not changed by a link that a thief had sent before the owner set a new password', async () => {
    const owner = await confirmed()
    await read(ask(owner, 'thief@example.com'))
    const token = tokenIn((await mailbox.next()).text)
    await read(forget(owner.email))
    await read(reset(tokenIn((await mailbox.next()).text)))
    expect(await refusalOf(confirm(token))).toMatchObject({ status: 409, code: 'invalid_state' })
    expect(await signIn(gateway, owner.email, NEW)).toBe(200)
  })

  test('gets at most ten links an hour, from any address', async () => {
    const victim = await confirmed()
    gateway.clock.advance(3_600_000)
    const thieves = [await confirmed(), await confirmed()]
    for (let i = 0; i < 12; i++)
      await read(ask(thieves[i % 2] ?? victim, i === 11 ? 'other@example.com' : victim.email))
    const to: string[] = []
    for (let i = 0; i < 11; i++) to.push((await mailbox.next()).to)
    expect(to.filter((address) => address === victim.email)).toHaveLength(10)
    expect(to).toContain('other@example.com')
    expect(mailbox.received).toEqual([])
  })

  test('requires a sign-in of the last ten minutes, and must be valid', async () => {
    const owner = await confirmed()
    for (const email of ['', 'ada', 'a b@example.com', 7, null, `${'a'.repeat(250)}@example.com`, owner.email])
      expect(await refusalOf(ask(owner, email))).toMatchObject({ status: 400, code: 'invalid_parameter' })
    gateway.clock.advance(600_001)
    expect(await refusalOf(ask(owner, 'x@example.com'))).toMatchObject({ code: 'recent_sign_in_required' })
  })

  test('without mail changes at once, unless another account has it', async () => {
    const [owner, other] = [await silent.owner(), await silent.owner()]
    expect(await read<unknown>(ask(owner, 'at.once@example.com'))).toEqual({ outcome: 'changed' })
    expect(await signIn(silent, 'at.once@example.com', OLD)).toBe(200)
    expect(await refusalOf(ask(other, 'at.once@example.com'))).toMatchObject({ status: 409, code: 'invalid_state' })
  })
})
