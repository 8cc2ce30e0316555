import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { reconcile } from '../../support/reconcile'
import { ADA, linkKey } from '../../support/social/linked-key'

let gateway: Harness
let key: MadeKey
beforeAll(async () => {
  gateway = await openHarness()
  key = await gateway.key(await gateway.account(5))
  await linkKey(gateway, key)
})
afterAll(async () => {
  await gateway.close(true)
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const sandbox = () => {
  const { sandbox: site } = gateway.gateway
  if (!site) throw new Error('the sandbox is off')
  return site
}
const post = async (content: string, idempotencyKey: string, by = key) => {
  const answer = await gateway.as(by, '/apis/v1/social/post_social', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    body: JSON.stringify({ content }),
  })
  const body = (await answer.json()) as { data?: { id: string }; error?: { code: string } }
  return { status: answer.status, id: body.data?.id, code: body.error?.code }
}
const saying = async (text: string) =>
  (await sandbox().community.timeline(100)).filter((shown) => shown.text === text).length
const spent = async () =>
  ((await (await gateway.as(key, '/v1/credits/balance')).json()) as { api_key: { used_micros_usd: number } }).api_key
    .used_micros_usd

describe('Idempotency-Key on a write (spec D5)', () => {
  test('a repeat gives the first answer: posted once, charged once', async () => {
    const before = await spent()
    const answers = await Promise.all([post('Said once', 'k-1'), post('Said once', 'k-1')])
    answers.push(await post('Said once', 'k-1'))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
    expect([await saying('Said once'), (await spent()) - before]).toEqual([1, 15_000])
  })

  test('another post under the same key is 409', async () => {
    expect(await post('Said otherwise', 'k-1')).toMatchObject({ status: 409, code: 'idempotency_conflict' })
  })

  test('after an unknown outcome a repeat is 409 outcome_unknown, and never a second post', async () => {
    const before = await spent()
    await sandbox().faults.set(ADA.id, 'lost_answer', 1)
    expect((await post('Perhaps said', 'k-2')).status).toBe(504)
    expect(await post('Perhaps said', 'k-2')).toMatchObject({ status: 409, code: 'outcome_unknown' })
    expect([await saying('Perhaps said'), (await spent()) - before]).toEqual([1, 0])
  })

  test('a refusal that sent nothing frees its key: once the account is linked, the same call succeeds', async () => {
    const unlinked = await gateway.key(await gateway.account(5))
    expect(await post('Said after linking', 'k-3', unlinked)).toMatchObject({ code: 'social_session_required' })
    await linkKey(gateway, unlinked, ['tweet.read', 'users.read'])
    expect(await post('Said after linking', 'k-3', unlinked)).toMatchObject({ code: 'insufficient_scope' })
    await linkKey(gateway, unlinked)
    expect(await post('Said after linking', 'k-3', unlinked)).toMatchObject({ status: 200 })
    expect(await saying('Said after linking')).toBe(1)
  })
})
