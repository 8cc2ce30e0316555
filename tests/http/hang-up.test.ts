import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import type { Account } from '../../server/core/accounts/account'
import { err, ok } from '../../server/core/result'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { CONTEXT_CALL, endAndReconcile, IMAGES_CALL, PRICE } from './wire'

describe('once the source is called, a hang-up changes nothing (spec D4)', () => {
  let gateway: Harness
  let account: Account
  let key: MadeKey

  beforeAll(async () => {
    gateway = await openHarness({ env: { METRICS_PORT: '0' } })
  })
  beforeEach(async () => {
    account = await gateway.account()
    key = await gateway.key(account)
  })
  afterAll(() => endAndReconcile(gateway))

  const spent = async () => {
    const balance = await gateway.core.ledger.balance(account.id)
    expect(Number(balance?.held)).toBe(0)
    return 2_000_000 - Number(balance?.posted)
  }
  /** Status and code of the account's latest row in the log. */
  const lastRow = async () => {
    await gateway.core.stores.journal.drained()
    const rows = sql`SELECT status, code FROM requests WHERE account_id = ${account.id} ORDER BY id DESC LIMIT 1`
    return gateway.core.stores.db.get(rows)
  }
  /** A search whose caller is gone as soon as the source has the question; `make` makes the call. */
  async function leftAlone(make: (signal: AbortSignal) => Promise<unknown>, succeeds = true) {
    const gone = new AbortController()
    const signals: AbortSignal[] = []
    const answer = async (_: unknown, signal: AbortSignal) => {
      gone.abort()
      await Promise.resolve()
      signals.push(signal)
      return succeeds ? ok({ body: '{"found":true}' }) : err({ kind: 'error', reason: 'down' } as const)
    }
    gateway.images.answer = answer
    gateway.context.answer = answer
    await make(gone.signal).catch(() => undefined)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  }

  test.each([IMAGES_CALL, CONTEXT_CALL])('%s runs to its end and is charged', async (path) => {
    await leftAlone((signal) => gateway.as(key, path, { signal }))
    expect(await spent()).toBe(PRICE)
  })

  test('before that a hang-up ends the call: the source is not called, and nothing is charged', async () => {
    let asked = 0
    gateway.images.answer = async () => {
      asked++
      return ok({ body: '{"found":true}' })
    }
    await gateway.as(key, IMAGES_CALL, { signal: AbortSignal.abort() }).catch(() => undefined)
    expect([asked, await spent()]).toEqual([0, 0])
    expect(await lastRow()).toEqual({ status: 499, code: 'caller_hung_up' })
  })

  test('a hang-up that ends a free local search is no warning about it, and no failure of its source in the metrics', async () => {
    const gone = new AbortController()
    gateway.images.isLocal = true
    gateway.images.answer = () => {
      gone.abort()
      return new Promise(() => undefined)
    }
    const written = gateway.logged.length
    await gateway.as(key, IMAGES_CALL, { signal: gone.signal }).catch(() => undefined)
    delete gateway.images.isLocal
    expect(gateway.logged.slice(written).filter((line) => line.includes(' warn '))).toEqual([])
    expect(
      await gateway.gateway.metrics?.onOwnPort(new Request('http://localhost/metrics')).then((answer) => answer.text()),
    ).not.toContain('upstream="fixture",result="timeout"')
    expect(await spent()).toBe(0)
    expect(await lastRow()).toEqual({ status: 499, code: 'caller_hung_up' })
  })

  test('a search that fails after its caller left costs nothing, as for a caller who waits', async () => {
    await leftAlone((signal) => gateway.as(key, IMAGES_CALL, { signal }), false)
    expect(await spent()).toBe(0)
  })

  test('under an Idempotency-Key a repeat gets the answer of the abandoned call, and is not charged again', async () => {
    const headers = { 'idempotency-key': 'left' }
    await leftAlone((signal) => gateway.as(key, IMAGES_CALL, { signal, headers }))
    const again = await gateway.as(key, IMAGES_CALL, { headers })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(await spent()).toBe(PRICE)
  })

  test('forty callers that leave at once pay for forty searches', async () => {
    const all = Promise.withResolvers<void>()
    const gone = new AbortController()
    let asked = 0
    gateway.images.answer = async () => {
      if (++asked === 40) all.resolve()
      await all.promise
      gone.abort()
      return ok({ body: '{"found":true}' })
    }
    await Promise.all(
      Array.from({ length: 40 }, () => gateway.as(key, IMAGES_CALL, { signal: gone.signal }).catch(() => undefined)),
    )
    expect(await spent()).toBe(40 * PRICE)
  })
})
