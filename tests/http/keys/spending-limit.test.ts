import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { reconcile } from '../../support/reconcile'

const IMAGES = '/apis/v1/websearch/images/search?q=card'

describe('a charge', () => {
  let gateway: Harness

  beforeAll(async () => {
    gateway = await openHarness()
  })
  afterAll(async () => {
    await gateway.close(true)
    expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
  })

  test('200 parallel calls on a 0.10 USD limit serve exactly 20 (spec 2.1, 3)', async () => {
    const key = await gateway.key(await gateway.account(10), { spending_limit: 0.1 })
    const answers = await Promise.all(Array.from({ length: 200 }, () => gateway.as(key, IMAGES)))
    const statuses = answers.map((answer) => answer.status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(20)
    expect(statuses.filter((status) => status === 402)).toHaveLength(180)
  })
})
