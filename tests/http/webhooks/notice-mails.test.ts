import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AccountId } from '../../../server/core/ids'
import { periodAround } from '../../../server/core/usage/calendar'
import type { EventType } from '../../../server/core/webhooks/event'
import { type Harness, openHarness } from '../../support/harness'
import { audit } from '../../support/ledger-parts'
import { openMailbox } from '../../support/mailbox'
import { auditRows, callWith, closeReconciled, keyBench, type Owner, read, refusalOf } from '../owner-bench'

const PAUSE_MS = 15 * 60_000

let mailbox: Awaited<ReturnType<typeof openMailbox>>
let gateway: Harness
beforeAll(async () => {
  mailbox = await openMailbox()
  gateway = await openHarness({ env: { SMTP_URL: mailbox.url, MAIL_FROM: 'gateway@example.com' } })
  // The first account is the operator.
  await newOwner()
})
afterAll(async () => {
  await closeReconciled(gateway)
  await mailbox.close()
})

async function newOwner(): Promise<Owner & { readonly id: AccountId }> {
  const owner = await gateway.owner(undefined, undefined, async () => {
    const token = /#token=([\w.-]+)/.exec((await mailbox.next()).text)?.[1]
    await gateway.call('/api/settings/email/confirm', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    })
  })
  const { id } = await read<{ id: AccountId }>(owner.api('/api/account'))
  return { ...owner, id }
}

let happened = 0
async function happens(accountId: AccountId | null, type: EventType, data = {}): Promise<void> {
  const event = { id: `evt_test${++happened}`, type, accountId, keyId: null, at: gateway.clock.now(), data }
  await gateway.core.stores.webhooks.addEvents([event])
}
async function round(): Promise<void> {
  await gateway.gateway.delivering.run()
  await gateway.gateway.noticeMails?.run(new AbortController().signal)
}

test('a chosen event is mailed once, and those of the next 15 minutes come in one mail', async () => {
  const owner = await newOwner()
  await happens(owner.id, 'balance.low', { balance_micros_usd: 900_000 })
  await happens(owner.id, 'key.created')
  await Promise.all([round(), round()])
  const first = await mailbox.next()
  expect(first.to).toBe(owner.email)
  expect(first.text).toContain('balance.low (balance_micros_usd: 900000)')
  expect(first.text).not.toContain('key.created')
  for (let i = 0; i < 30; i++) await happens(owner.id, 'budget.threshold', { percent: 50 })
  await read(owner.api('/api/notices/mail', { kinds: ['budget.threshold'] }, 'PATCH'))
  await happens(owner.id, 'balance.empty')
  await round()
  expect(mailbox.received).toEqual([])
  gateway.clock.advance(PAUSE_MS)
  await round()
  await round()
  const second = await mailbox.next()
  expect(second.text).toContain('30 notices')
  expect(second.text).toContain('and 10 more')
  expect(second.text).not.toContain('balance.empty')
  expect(mailbox.received).toEqual([])
})

test('a mail server that fails is asked again, and what is a day old is not mailed any more', async () => {
  const owner = await newOwner()
  await happens(owner.id, 'topup.failed')
  mailbox.refuse(true)
  await round()
  mailbox.refuse(false)
  await round()
  expect(mailbox.received).toEqual([])
  gateway.clock.advance(PAUSE_MS)
  await round()
  expect((await mailbox.next()).text).toContain('topup.failed')
  await happens(owner.id, 'topup.failed')
  gateway.clock.advance(24 * 3_600_000 + 1)
  await round()
  expect(mailbox.received).toEqual([])
})

test('the link of a mail unsubscribes by POST without a sign-in (RFC 8058); opening it changes nothing, a forged one is refused', async () => {
  const owner = await newOwner()
  await happens(owner.id, 'balance.low')
  await round()
  const { text } = await mailbox.next()
  expect(text).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click')
  const link = /Unsubscribe: (\S+)/.exec(text)?.[1] ?? ''
  const path = link.slice(gateway.config.baseUrl.length)
  const kinds = async () => (await read<{ kinds: string[] }>(owner.api('/api/notices/mail'))).kinds
  const before = await kinds()
  expect(before).toContain('balance.low')
  const opened = await gateway.call(path)
  expect([opened.status, opened.headers.get('referrer-policy')]).toEqual([200, 'no-referrer'])
  for (const forged of [`${path}x`, path.replace(owner.id, 'acct_01a1fdfa942070018c603d2632ddc21b'), '/unsubscribe'])
    expect((await gateway.call(forged, { method: 'POST' })).status).toBe(404)
  expect(await kinds()).toEqual(before)
  const oneClick = await gateway.call(path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'List-Unsubscribe=One-Click',
  })
  expect(oneClick.status).toBe(200)
  expect(await kinds()).toEqual([])
  expect((await auditRows(gateway)).some(({ action }) => action === 'notices.unsubscribed')).toBe(true)
  gateway.clock.advance(PAUSE_MS)
  await happens(owner.id, 'balance.low')
  await round()
  expect(mailbox.received).toEqual([])
})

test('operators are mailed the events of the gateway, others are not; an unknown kind is refused', async () => {
  const owner = await newOwner()
  gateway.clock.advance(PAUSE_MS)
  await happens(null, 'ledger.alarm')
  await round()
  expect((await mailbox.next()).to).not.toBe(owner.email)
  expect(mailbox.received).toEqual([])
  expect(await refusalOf(owner.api('/api/notices/mail', { kinds: ['nothing'] }, 'PATCH'))).toMatchObject({
    code: 'invalid_parameter',
  })
})

test('each operator is mailed the events of the gateway once, and at most every 15 minutes', async () => {
  const second = await newOwner()
  await gateway.core.stores.directory.setRole(second.id, 'operator', audit())
  gateway.clock.advance(PAUSE_MS)
  await happens(second.id, 'balance.low')
  await round()
  await mailbox.next()
  await happens(null, 'ledger.alarm')
  await round()
  const first = await mailbox.next()
  expect([first.to === second.email, first.text.includes('ledger.alarm')]).toEqual([false, true])
  gateway.clock.advance(60_000)
  await happens(null, 'upstream.down')
  await round()
  // The second operator was mailed 1 minute ago, the first one too.
  expect(mailbox.received).toEqual([])
  gateway.clock.advance(PAUSE_MS)
  await round()
  await round()
  const mails = [await mailbox.next(), await mailbox.next()]
  const kinds = (text: string) => ['ledger.alarm', 'upstream.down'].filter((kind) => text.includes(kind)).join()
  expect(mails.map(({ to, text }) => `${to === second.email ? 'second' : 'first'} ${kinds(text)}`).sort()).toEqual([
    'first upstream.down',
    'second ledger.alarm,upstream.down',
  ])
  expect(mailbox.received).toEqual([])
  await gateway.core.stores.directory.setRole(second.id, null, audit())
})

describe('the weekly summary', () => {
  const WEEK_MS = 7 * 86_400_000
  const summaries = () => gateway.gateway.spendSummaries?.run(new AbortController().signal)

  /** An owner in Tokyo with two keys, of which the first made three calls and the second one, in the week that ends in an hour. */
  async function spender(choice: object) {
    const owner = await newOwner()
    const zone = 'Asia/Tokyo'
    await read(owner.api('/api/settings', { timezone: zone }, 'PATCH'))
    await read(owner.api('/api/notices/mail', choice, 'PATCH'))
    await summaries()
    const keys = keyBench(owner)
    for (const [name, calls] of [
      ['much used', 3],
      ['seldom', 1],
    ] as const) {
      const { secret } = await keys.create({ name })
      for (let i = 0; i < calls; i++) expect(await callWith(gateway, secret)).toBe('200')
    }
    const { end } = periodAround(gateway.clock.now(), 'week', zone)
    gateway.clock.advance(end - 3_600_000 - gateway.clock.now())
    await summaries()
    return owner
  }

  test("tells spend, keys, operations and balance once the week ends in the owner's time zone, once", async () => {
    const owner = await spender({ weekly_summary: true })
    expect(mailbox.received).toEqual([])
    gateway.clock.advance(3_600_000)
    mailbox.refuse(true)
    await summaries()
    mailbox.refuse(false)
    await Promise.all([summaries(), summaries()])
    const { to, text } = await mailbox.next()
    expect(to).toBe(owner.email)
    expect(text).toContain('Calls: 4')
    expect(text).toContain('(Asia/Tokyo)')
    expect(text).toMatch(
      /Spent: \$0\.\d+\r?\n[\s\S]*Balance on [^ ]+: \$1\.\d+[\s\S]*Keys:[\s\S]*much used\s+\$0\.\d+ {2}seldom[\s\S]*Operations:\s+\$0/,
    )
    await summaries()
    gateway.clock.advance(WEEK_MS)
    await summaries()
    // A week without calls is not mailed.
    expect(mailbox.received).toEqual([])
    const path = /Unsubscribe: (\S+)/.exec(text)?.[1]?.slice(gateway.config.baseUrl.length) ?? ''
    expect(await gateway.core.stores.noticeMails.choiceOf(owner.id)).toMatchObject({ weeklySummary: true })
    expect((await gateway.call(path, { method: 'POST' })).status).toBe(200)
    expect(await gateway.core.stores.noticeMails.choiceOf(owner.id)).toEqual({ kinds: [], weeklySummary: false })
  })

  test('is not mailed to owners who did not choose it, nor again because the owner moves to another time zone', async () => {
    const silent = await spender({ kinds: [] })
    gateway.clock.advance(WEEK_MS)
    await summaries()
    expect(mailbox.received).toEqual([])
    expect(await gateway.core.stores.noticeMails.choiceOf(silent.id)).toMatchObject({ weeklySummary: false })
    const mover = await spender({ weekly_summary: true })
    gateway.clock.advance(3_600_000)
    await summaries()
    expect((await mailbox.next()).to).toBe(mover.email)
    const again = await gateway.signIn(mover.email)
    const moved = await again.api('/api/settings', { timezone: 'America/Los_Angeles' }, 'PATCH')
    expect(moved.status).toBe(200)
    gateway.clock.advance(86_400_000)
    await summaries()
    expect(mailbox.received.filter(({ text }) => text.includes('Your week'))).toEqual([])
  })
})
