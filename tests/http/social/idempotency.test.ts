import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { ADA, linkKey } from '../../support/social/linked-key'
import { endAndReconcile } from '../wire'

let gateway: Harness
let key: MadeKey
beforeAll(async () => {
  gateway = await openHarness()
  key = await gateway.key(await gateway.account(5))
  await linkKey(gateway, key)
})
afterAll(() => endAndReconcile(gateway))

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
  test('after an unknown outcome a repeat is 409 outcome_unknown, and never a second post', async () => {
    const before = await spent()
    await sandbox().faults.set(ADA.id, 'lost_answer', 1)
    expect((await post('Perhaps said', 'k-2')).status).toBe(504)
    expect(await post('Perhaps said', 'k-2')).toMatchObject({ status: 409, code: 'outcome_unknown' })
    expect([await saying('Perhaps said'), (await spent()) - before]).toEqual([1, 0])
  })
})
