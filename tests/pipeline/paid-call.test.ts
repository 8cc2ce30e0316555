import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Account } from '../../server/core/accounts/account'
import { parseAddress } from '../../server/core/credentials/address'
import { failure } from '../../server/core/failure'
import { makeId } from '../../server/core/ids'
import { micros, ZERO } from '../../server/core/money'
import { ok } from '../../server/core/result'
import { NO_TELEMETRY } from '../../server/core/telemetry/telemetry'
import type { AuthenticatedCall, Outcome } from '../../server/pipeline/call'
import { Drains } from '../../server/pipeline/drains'
import { balanceFunding } from '../../server/pipeline/funding/balance'
import { paymentRequired } from '../../server/pipeline/funding/payment'
import { Idempotency } from '../../server/pipeline/idempotency/idempotency'
import { OpenCalls } from '../../server/pipeline/open-calls'
import { type PipelineDeps, runPaidCall } from '../../server/pipeline/paid-call'
import { type StreamSale, settledStream } from '../../server/pipeline/stream'
import type { Charge, OpenCall, Work, WorkResult } from '../../server/pipeline/work'
import { endAndReconcile } from '../http/wire'
import { type Harness, openHarness } from '../support/harness'

const MOST = micros(1000)
const TWO = { rpm: 1_000_000, tpm: 1_000_000, concurrency: 2 }

/** The charge for a caller of an API without a name of its own: so much for each byte. */
const perByte = (bytes: number): Charge => ({
  charged: { cost: micros(bytes), priceVersion: 'test', units: bytes, unitPrice: micros(1) },
})

describe('a paid call, whatever its work', () => {
  let gateway: Harness
  let deps: PipelineDeps
  let account: Account
  let authenticated: () => Promise<AuthenticatedCall>
  let hangUp: AbortController

  beforeAll(async () => {
    gateway = await openHarness()
  })
  beforeEach(async () => {
    const { core, clock } = gateway
    hangUp = new AbortController()
    deps = {
      ...core,
      clock,
      drains: new Drains(),
      openCalls: new OpenCalls(),
      idempotency: new Idempotency(core.stores.idempotencyRecords, clock, core.ledger),
      funding: { balance: balanceFunding(core.ledger), payment: paymentRequired, none: paymentRequired },
      onTrouble: () => undefined,
      onOverrun: () => undefined,
      telemetry: NO_TELEMETRY,
    }
    account = await gateway.account(0, TWO)
    const made = await gateway.key(account)
    const key = (await core.credentials.byAccount(account.id)).find(({ id }) => id === made.id)
    const address = parseAddress('192.0.2.1')
    if (!key || !address) throw new Error('no key')
    const subjects = [{ name: key.id, limits: TWO }]
    authenticated = async () => ({
      incoming: {
        id: makeId('req', clock.now()),
        clientRequestId: null,
        at: clock.now(),
        address,
        credential: { kind: 'own_key', id: key.id },
        request: { method: 'POST', url: '/x' },
        route: { kind: 'priced', operation: 'image-search', scope: 'data:read' },
        trace: null,
      },
      caller: { kind: 'key', key, account },
      subjects,
      readings: await core.limiter.read(subjects),
    })
  })
  afterAll(() => endAndReconcile(gateway))

  const work = (run: Work['run'], more: Partial<Work> = {}): Work => ({
    operation: 'image-search',
    effect: 'read',
    streams: false,
    timeoutMs: 1000,
    credit: 'all',
    quote: { maxCost: MOST, version: 'test', fixed: false },
    fingerprint: () => 'the same',
    run,
    ...more,
  })
  const run = async (made: Work, idempotencyKey: string | null = null): Promise<Outcome> => {
    const options = { maxPrice: null, quote: false, idempotencyKey }
    const call = { authenticated: await authenticated(), options, hangUp: hangUp.signal, takesSlot: true }
    return runPaidCall(deps, call, () => ok(made))
  }
  const money = async () => {
    const balance = await gateway.core.ledger.balance(account.id)
    return [2_000_000 - Number(balance?.posted), Number(balance?.held)]
  }
  const slots = async () => {
    const { subjects } = await authenticated()
    return 2 - (await gateway.core.limiter.read(subjects)).concurrency.remaining
  }
  const codeOf = (outcome: Outcome) => (outcome.kind === 'refused' ? outcome.failure.code : outcome.kind)

  /** A stream that is priced by its bytes: the whole body is what is sold, and its end is its own. */
  const byBytes = (open: OpenCall, body: ReadableStream<Uint8Array>, onClose = () => {}): WorkResult => {
    let bytes = 0
    const nothing = new Uint8Array()
    const sale: StreamSale = {
      meter: {
        push: (chunk) => {
          bytes += chunk.length
          return chunk
        },
        close: () => nothing,
        ending: nothing,
        isComplete: true,
        hasFailed: false,
      },
      get progress() {
        return bytes
      },
      get hasBegun() {
        return bytes > 0
      },
      stopsWithCaller: 'soon',
      lost: () => perByte(bytes),
      charge: ({ code }) => ({ ...perByte(bytes), code }),
      errorEvent: ({ code }) => new TextEncoder().encode(`!${code}`),
    }
    const source = { upstream: 'files', contentType: 'application/octet-stream', idleMs: 5000, drainMs: 5000 }
    const stream = { ...source, body, close: onClose }
    const streamDeps = { clock: gateway.clock, longestStreamMs: 60_000, onTrouble: () => undefined }
    return {
      kind: 'stream',
      headers: { 'content-type': source.contentType },
      lost: perByte(0),
      open: () => settledStream(streamDeps, open, stream, sale),
      close: onClose,
    }
  }
  const file = (size: number) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new Uint8Array(size))
        controller.close()
      },
    })

  test('charges a complete answer its real cost, and releases everything', async () => {
    const outcome = await run(work(async () => ({ kind: 'answer', body: 'yes', charge: perByte(3) })))
    expect(outcome).toMatchObject({ kind: 'served', body: 'yes', cost: 3 })
    expect([await money(), await slots()]).toEqual([[3, 0], 0])
  })

  test('charges a stream by its bytes at its end; until then it keeps its slot and its hold', async () => {
    const outcome = await run(work(async (open) => byBytes(open, file(40)), { streams: true }))
    if (outcome.kind !== 'streaming') throw new Error(codeOf(outcome))
    expect([await money(), await slots()]).toEqual([[0, 1000], 1])
    expect((await new Response(outcome.body).bytes()).length).toBe(40)
    expect([await money(), await slots()]).toEqual([[40, 0], 0])
  })

  test('a stream whose hold cannot be made durable is not started: its upstream is closed, and nothing is charged', async () => {
    const { balance } = deps.funding
    const frail = {
      ...deps.funding,
      balance: {
        reserve: async (...of: Parameters<typeof balance.reserve>) => {
          const reserved = await balance.reserve(...of)
          return reserved.ok ? ok(Object.assign(reserved.value, { persist: async () => false })) : reserved
        },
      },
    }
    deps = { ...deps, funding: frail }
    let closed = 0
    const outcome = await run(work(async (open) => byBytes(open, file(40), () => closed++), { streams: true }))
    expect([codeOf(outcome), closed, await money(), await slots()]).toEqual(['service_unavailable', 1, [0, 0], 0])
  })

  test('a process that ends between the headers and the first byte of a stream aborts it without a charge', async () => {
    const silent = new ReadableStream<Uint8Array>({ start: () => undefined })
    let ended: Promise<void> | null = null
    const outcome = await run(
      work(
        async (open) => {
          ended = deps.openCalls.ended(0)
          await new Promise<void>((told) => open.shutdown.addEventListener('abort', () => told(), { once: true }))
          return byBytes(open, silent)
        },
        { streams: true },
      ),
    )
    if (outcome.kind !== 'streaming') throw new Error(codeOf(outcome))
    expect(await new Response(outcome.body).text()).toBe('!service_unavailable')
    await ended
    expect([await money(), await slots()]).toEqual([[0, 0], 0])
  })

  test('a work that throws leaves no hold and no slot', async () => {
    const broken = work(async () => {
      throw new Error('broken')
    })
    await expect(run(broken)).rejects.toThrow('broken')
    expect([await money(), await slots()]).toEqual([[0, 0], 0])
  })

  test('a failure that costs a caller who hung up is charged once, and leaves one row', async () => {
    const gone = work(async () => {
      hangUp.abort()
      return { kind: 'failed', failure: failure('upstream_error', 'broke'), didNothing: true, owed: perByte(7) }
    })
    const outcome = await run(gone)
    expect(outcome).toMatchObject({ kind: 'refused', isCharged: true })
    expect(await money()).toEqual([7, 0])
  })

  test('a caller who hangs up before the upstream is called pays nothing, and its key is free again', async () => {
    let asked = 0
    const counted = work(async () => ({ kind: 'answer', body: `${++asked}`, charge: perByte(5) }), { streams: true })
    hangUp.abort()
    expect(codeOf(await run(counted, 'left'))).toBe('upstream_timeout')
    expect([asked, await money()]).toEqual([0, [0, 0]])
    hangUp = new AbortController()
    expect(codeOf(await run(counted, 'left'))).toBe('served')
    expect(codeOf(await run(counted, 'left'))).toBe('repeated')
    expect([asked, await money()]).toEqual([1, [5, 0]])
  })

  test('a write with an unknown outcome is not sent again; one that certainly did nothing is', async () => {
    let asked = 0
    const failing = (didNothing: boolean) =>
      work(
        async () => {
          asked++
          return { kind: 'failed', failure: failure('upstream_error', 'broke'), didNothing }
        },
        { effect: 'write' },
      )
    expect(codeOf(await run(failing(true), 'write'))).toBe('upstream_error')
    expect(codeOf(await run(failing(false), 'write'))).toBe('upstream_error')
    expect(codeOf(await run(failing(false), 'write'))).toBe('outcome_unknown')
    expect([asked, await money()]).toEqual([2, [0, 0]])
  })

  test('while charges fail, a call of any kind is refused before its upstream is asked, and gives everything back (spec D4)', async () => {
    const asked: string[] = []
    const answer: Work['run'] = async () => {
      asked.push('upstream')
      return { kind: 'answer', body: '{}', charge: perByte(5) }
    }
    const tries = { left: 1 }
    deps = { ...deps, charges: { isFailing: true, recovers: async () => tries.left-- > 0 } }
    expect(codeOf(await run(work(answer)))).toBe('served')
    const kinds: Partial<Work>[] = [
      {},
      { effect: 'write' },
      { streams: true },
      { quote: { maxCost: ZERO, version: 'test', fixed: true } },
    ]
    for (const kind of kinds) {
      const outcome = await run(work(answer, kind), `key ${asked.length} ${JSON.stringify(kind)}`)
      if (outcome.kind !== 'refused') throw new Error(outcome.kind)
      expect([outcome.failure.code, outcome.failure.retryAfterSeconds]).toEqual(['service_unavailable', 1])
    }
    expect(asked).toHaveLength(1)
    expect([await money(), await slots()]).toEqual([[5, 0], 0])
    // The key of a refused call is free again.
    deps = { ...deps, charges: { isFailing: false, recovers: async () => false } }
    expect(codeOf(await run(work(answer, { effect: 'write' }), `key 1 ${JSON.stringify({ effect: 'write' })}`))).toBe(
      'served',
    )
  })
})
