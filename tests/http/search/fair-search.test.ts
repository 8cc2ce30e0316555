import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { BOUNDS, openIndexClient } from '../../../server/adapters/websearch/local/index-client'
import { imageProvider } from '../../../server/adapters/websearch/local/open-local-websearch'
import type { Account } from '../../../server/core/accounts/account'
import { ok } from '../../../server/core/result'
import { FakeThreads } from '../../support/fake-threads'
import { type Harness, OVER_SOCKET, openHarness } from '../../support/harness'
import { openPaidCalls } from '../../support/payments/paid-calls'
import { CONTEXT_CALL, endAndReconcile, IMAGES, IMAGES_CALL, PRICE, refusalOf } from '../wire'

describe('one owner who floods the index with slow searches', () => {
  let gateway: Harness

  beforeAll(async () => {
    gateway = await openHarness()
  })
  afterAll(() => endAndReconcile(gateway))

  /** Searches go to a thread that answers when it is told to. `asked(n)`: n searches have come to the index. */
  function slowIndex() {
    const threads = new FakeThreads()
    const client = openIndexClient({ indexPath: '', maxThreads: 1, start: threads.start })
    const provider = imageProvider(client, 'http://localhost')
    const waits = new Map<number, () => void>()
    let count = 0
    gateway.images.isLocal = true
    gateway.images.answer = (...given) => {
      const answer = provider.call(...given)
      waits.get(++count)?.()
      return answer
    }
    const asked = (n: number) => new Promise<void>((resolve) => (count >= n ? resolve() : waits.set(n, resolve)))
    return { client, threads, asked }
  }
  const balanceOf = async (account: Account) => Number((await gateway.core.ledger.balance(account.id))?.posted)

  test('does not block another owner, whose single search is served next but one', async () => {
    const { client, threads, asked } = slowIndex()
    const flooder = await gateway.account()
    const other = await gateway.account()
    const keys = [await gateway.key(flooder), await gateway.key(flooder)]
    const single = await gateway.key(other)
    const search = (key: { secret: string }, q: string) => gateway.as(key.secret, `${IMAGES}?q=${q}`)
    // Two keys of one account have one account's turns.
    const flood = Array.from({ length: 60 }, (_, at) => search(keys[at % 2] ?? single, `flood${at}`))
    await asked(60)
    const answer = search(single, 'single')
    await asked(61)
    const [thread] = threads.all
    thread?.open()
    thread?.answer()
    expect(threads.asked).toEqual(['flood0', 'single'])
    thread?.answer()
    expect((await answer).status).toBe(200)
    expect(await balanceOf(other)).toBe(2_000_000 - PRICE)
    while (thread?.working) thread.answer()
    expect(new Set((await Promise.all(flood)).map(({ status }) => status))).toEqual(new Set([200]))
    expect(await balanceOf(flooder)).toBe(2_000_000 - 60 * PRICE)
    await client.close()
  })

  test("gets an uncharged 429 above one caller's share of the queue, while the other owner is served", async () => {
    const { client, threads, asked } = slowIndex()
    const flooder = await gateway.account()
    const other = await gateway.account()
    const key = await gateway.key(flooder)
    const single = await gateway.key(other)
    const flood = Array.from({ length: BOUNDS.perCaller }, () => gateway.as(key, IMAGES_CALL))
    await asked(BOUNDS.perCaller)
    const over = await gateway.as(key, IMAGES_CALL)
    expect(over.headers.get('retry-after')).toBe('1')
    expect(await refusalOf(over)).toMatchObject({ status: 429, code: 'upstream_rate_limit', type: 'rate_limit_error' })
    const answer = gateway.as(single, IMAGES_CALL)
    await asked(BOUNDS.perCaller + 2)
    const [thread] = threads.all
    thread?.open()
    while (thread?.working) thread.answer()
    expect((await answer).status).toBe(200)
    await Promise.all(flood)
    expect(await balanceOf(flooder)).toBe(2_000_000 - BOUNDS.perCaller * PRICE)
    expect(await balanceOf(other)).toBe(2_000_000 - PRICE)
    await client.close()
  })

  test.skipIf(OVER_SOCKET)('leaves the queue at once on hanging up, uncharged', async () => {
    const { client, threads, asked } = slowIndex()
    const account = await gateway.account()
    const key = await gateway.key(account)
    const gone = new AbortController()
    const left = Array.from({ length: 20 }, () => gateway.as(key, IMAGES_CALL, { signal: gone.signal }))
    await asked(20)
    const last = gateway.as(key, `${IMAGES}?q=last`)
    await asked(21)
    gone.abort()
    await Promise.all(left.map((call) => call.catch(() => undefined)))
    const [thread] = threads.all
    thread?.open()
    thread?.answer()
    expect((await last).status).toBe(200)
    expect(threads.asked).toEqual(['last'])
    expect(await balanceOf(account)).toBe(2_000_000 - PRICE)
    await client.close()
  })

  test('the account is the caller, whatever key or operation it calls by', async () => {
    const callers: string[] = []
    const answer = async (_input: unknown, _signal: AbortSignal, { caller }: { readonly caller: string }) => {
      callers.push(caller)
      return ok({ body: '{}' })
    }
    gateway.images.answer = answer
    gateway.context.answer = answer
    const [one, two] = [await gateway.account(), await gateway.account()]
    for (const path of [IMAGES_CALL, CONTEXT_CALL]) {
      await gateway.as(await gateway.key(one), path)
      await gateway.as(await gateway.key(one), path)
      await gateway.as(await gateway.key(two), path)
    }
    const [a, b] = [`account ${one.id}`, `account ${two.id}`]
    expect(callers).toEqual([a, a, b, a, a, b])
  })
})

test('callers without an account count as one per address, or per /64', async () => {
  const calls = await openPaidCalls()
  const callers: string[] = []
  calls.gateway.images.answer = async (_input, _signal, { caller }) => {
    callers.push(caller)
    return ok({ body: '{}' })
  }
  for (const from of ['192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8::ada'])
    expect(await calls.call(await calls.bought(), { from })).toMatchObject({ kind: 'served' })
  expect(callers).toEqual(['address 192.0.2.1', 'address 192.0.2.2', 'address 2001:db8::/64', 'address 2001:db8::/64'])
  await endAndReconcile(calls.gateway)
})
