import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import type { Account } from '../../server/core/accounts/account'
import { parseAddress } from '../../server/core/credentials/address'
import { failure } from '../../server/core/failure'
import { makeId } from '../../server/core/ids'
import { micros, ZERO } from '../../server/core/money'
import { err, ok } from '../../server/core/result'
import { NO_TELEMETRY } from '../../server/core/telemetry/telemetry'
import type { AuthenticatedCall, Outcome } from '../../server/pipeline/call'
import type { Decisions } from '../../server/pipeline/decisions'
import { Drains } from '../../server/pipeline/drains'
import { Idempotency } from '../../server/pipeline/idempotency/idempotency'
import { LocalDecisions } from '../../server/pipeline/local-decisions'
import { OpenCalls } from '../../server/pipeline/open-calls'
import { type PipelineDeps, runPaidCall } from '../../server/pipeline/paid-call'
import { type StreamSale, settledStream } from '../../server/pipeline/stream'
import type { Charge, OpenCall, Work, WorkResult } from '../../server/pipeline/work'
import { endAndReconcile } from '../http/wire'
import { CALLER_LIMITS, type Harness, openHarness } from '../support/harness'

const MOST = micros(1000)
const TWO = { rpm: 1_000_000, tpm: 1_000_000, concurrency: 2 }

const NO_PAYMENTS = failure('payment_required', 'No payments in this test.')

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
      decisions: new LocalDecisions({ ...CALLER_LIMITS, ...core, clock, drains: new Drains() }),
      openCalls: new OpenCalls(),
      idempotency: new Idempotency(core.stores.idempotencyRecords, clock, core.ledger),
      funding: { reserve: async () => err(NO_PAYMENTS), offered: async (problem) => problem },
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
        route: { kind: 'priced', operation: 'image-search', scope: 'data:read', takesSlot: true },
        budgetScope: null,
        trace: null,
      },
      caller: { kind: 'key', key, account, tier: 'free' },
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
    const options = { maxPrice: null, quote: false, idempotencyKey, budgetScope: null }
    const call = { authenticated: await authenticated(), options, hangUp: hangUp.signal }
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
    const { decisions } = deps
    const frail: Decisions = {
      begin: async (...of) => {
        const begun = await decisions.begin(...of)
        return begun.ok ? ok(Object.assign(begun.value, { keep: async () => false })) : begun
      },
      authenticate: (...of) => decisions.authenticate(...of),
      leave: (...of) => decisions.leave(...of),
      spendable: (...of) => decisions.spendable(...of),
    }
    deps = { ...deps, decisions: frail }
    let closed = 0
    const outcome = await run(work(async (open) => byBytes(open, file(40), () => closed++), { streams: true }))
    expect([codeOf(outcome), closed, await money(), await slots()]).toEqual(['service_unavailable', 1, [0, 0], 0])
  })

  test('a fault while the progress of a stream is written disturbs neither the stream nor its charge', async () => {
    const quote = { maxCost: micros(20_000), version: 'test', fixed: false }
    const outcome = await run(work(async (open) => byBytes(open, file(10_000)), { streams: true, quote }))
    if (outcome.kind !== 'streaming') throw new Error(codeOf(outcome))
    const keep = spyOn(gateway.core.ledger, 'keep').mockRejectedValueOnce(new Error('a fault'))
    expect((await new Response(outcome.body).bytes()).length).toBe(10_000)
    expect([keep.mock.calls.length, await money(), await slots()]).toEqual([1, [10_000, 0], 0])
    keep.mockRestore()
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
    let isFailing = true
    const charges = {
      get isFailing() {
        return isFailing
      },
      recovers: async () => tries.left-- > 0,
    }
    deps = {
      ...deps,
      decisions: new LocalDecisions({
        ...CALLER_LIMITS,
        ...gateway.core,
        clock: gateway.clock,
        charges,
        drains: new Drains(),
      }),
    }
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
    isFailing = false
    expect(codeOf(await run(work(answer, { effect: 'write' }), `key 1 ${JSON.stringify({ effect: 'write' })}`))).toBe(
      'served',
    )
  })

  /** The calls of a kind whose every step throws once: the first step of the first, the second of the second, and so on. */
  const KINDS: Readonly<Record<string, (step: <T>(next: T) => T) => Work>> = {
    'an answer': (step) => work(async () => step({ kind: 'answer', body: '{}', charge: perByte(5) })),
    'a write': (step) =>
      work(async () => step({ kind: 'answer', body: '{}', charge: perByte(5) }), { effect: 'write' }),
    'an answer for tokens': (step) =>
      work(
        async () => step({ kind: 'answer', body: '{}', charge: perByte(5), onCharged: async () => step(undefined) }),
        {
          load: { subjects: [{ name: 'window of the model', limits: TWO }], window: null, tokens: 100, upstreams: [] },
        },
      ),
    'a failure that is owed': (step) =>
      work(async () => step({ kind: 'failed', failure: NO_PAYMENTS, didNothing: true, owed: perByte(5) })),
    'a refusal': (step) =>
      work(async () => ({ kind: 'answer', body: '{}', charge: perByte(5) }), {
        quote: { maxCost: micros(1_000_000_000), version: 'test', fixed: true },
        explainRefusal: async (problem) => step(problem),
      }),
    'a stream': (step) =>
      work(
        async (open) => {
          const result = byBytes(step(open), file(40))
          if (result.kind !== 'stream') throw new Error(result.kind)
          return { ...result, open: () => step(result).open() }
        },
        {
          streams: true,
          load: { subjects: [{ name: 'window of streams', limits: TWO }], window: null, tokens: 100, upstreams: [] },
        },
      ),
  }

  for (const [kind, made] of Object.entries(KINDS))
    test.each([null, 'key'])(
      `a fault in any step of ${kind} leaves no hold, slot, token, key or listener (key: %p)`,
      async (key) => {
        const { core } = gateway
        let left = 0
        let steps = 0
        const step = <T>(next: T): T => {
          steps++
          if (--left === 0) throw new Error('a fault')
          return next
        }
        /** Throws before the method runs. What gives back is left alone: a fault there would be a leak by itself. */
        const faulty = <T extends object>(whole: T): T =>
          new Proxy(whole, {
            get(target, name) {
              const value = Reflect.get(target, name, target)
              if (typeof value !== 'function' || GIVES_BACK.has(String(name))) return value
              return (...given: unknown[]) => value.apply(target, step(given))
            },
          })
        const openCalls = new OpenCalls()
        deps = {
          ...deps,
          decisions: new LocalDecisions({
            ...CALLER_LIMITS,
            ...core,
            clock: gateway.clock,
            limiter: faulty(core.limiter),
            ledger: faulty(core.ledger),
            drains: faulty(new Drains()),
            charges: core.charges,
          }),
          idempotency: new Idempotency(faulty(core.stores.idempotencyRecords), gateway.clock, faulty(core.ledger)),
          openCalls: faulty(openCalls),
        }
        let faults = 0
        for (let at = 1; at <= steps + 1; at++) {
          const [spent] = await money()
          const listeners = new Set<unknown>()
          hangUp = new AbortController()
          countListeners(hangUp.signal, listeners)
          steps = 0
          left = at
          const options = { maxPrice: null, quote: false, idempotencyKey: key && `${kind} ${at}`, budgetScope: null }
          const call = { authenticated: await authenticated(), options, hangUp: hangUp.signal }
          const once = async () => {
            const outcome = await runPaidCall(deps, call, () => step(ok(made(step))))
            if (outcome.kind === 'streaming') await new Response(outcome.body).bytes().catch(() => undefined)
            return codeOf(outcome)
          }
          const ended = await once().catch((error: Error) => error.message)
          if (ended === 'a fault') faults++
          left = 0
          const [now = 0, held] = await money()
          const readings = core.limiter.read(
            ['window of the model', 'window of streams'].map((name) => ({ name, limits: TWO })),
          )
          expect([held, await slots(), openCalls.count, listeners.size]).toEqual([0, 0, 0, 0])
          // A call that ended by a fault counts no tokens; one that was charged counts none here either.
          expect(readings.tokens.remaining).toBe(TWO.tpm)
          expect(now - (spent ?? 0)).toBeLessThanOrEqual(40)
          // A repeat does not wait for a call that is over.
          if (key === null) continue
          const repeated = await run(
            made((next) => next),
            `${kind} ${at}`,
          )
          if (repeated.kind === 'streaming') await new Response(repeated.body).bytes()
        }
        expect(faults).toBeGreaterThan(3)
      },
    )
})

const GIVES_BACK: ReadonlySet<string> = new Set(['release', 'finish', 'giveBack', 'end', 'free', 'delete', 'read'])

/** Collects the listeners of a signal that were not removed. */
function countListeners(signal: AbortSignal, listeners: Set<unknown>): void {
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: AddEventListenerOptions,
  ) => {
    listeners.add(listener)
    add(type, listener, options)
  }
  signal.removeEventListener = (type: string, listener: EventListenerOrEventListenerObject) => {
    listeners.delete(listener)
    remove(type, listener)
  }
}
