import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { SANDBOX_MODELS } from '../../server/adapters/models/sandbox/sandbox-models'
import { MemoryWindows } from '../../server/adapters/stores/memory/windows'
import { grantHalf, recoveryOf } from '../../server/compose/workers'
import type { Account } from '../../server/core/accounts/account'
import type { Actor } from '../../server/core/audit'
import { CATALOG_VERSION } from '../../server/core/catalog/operation'
import { currentPrice } from '../../server/core/catalog/prices'
import { DAY_MS } from '../../server/core/clock'
import { parseAddress } from '../../server/core/credentials/address'
import { hashSecret } from '../../server/core/credentials/secret'
import { failure } from '../../server/core/failure'
import { idTime, type KeyId, makeId, type PoolId, type RequestId } from '../../server/core/ids'
import type { DurableHold } from '../../server/core/ledger/journal'
import { Limiter } from '../../server/core/limits/limiter'
import type { Limits } from '../../server/core/limits/tier'
import type { ModelBuyer } from '../../server/core/models/model'
import { type Money, micros, ZERO } from '../../server/core/money'
import { NO_TELEMETRY } from '../../server/core/telemetry/telemetry'
import type { CallRecord } from '../../server/core/usage/call-record'
import type { AuthenticatedCall, IncomingCall, Route, Verdict } from '../../server/pipeline/call'
import type { Allowance, Capture, Decisions, Wanted } from '../../server/pipeline/decisions'
import { Drains } from '../../server/pipeline/drains'
import { LocalDecisions } from '../../server/pipeline/local-decisions'
import { ItemMemory } from '../../server/pipeline/models/item-memory'
import { LocalItems } from '../../server/pipeline/models/item-references'
import { callRecord } from '../../server/pipeline/record-call'
import type { Primary } from '../../server/workers/remote-allowance'
import { RemoteDecisions } from '../../server/workers/remote-decisions'
import { RemoteItems } from '../../server/workers/remote-items'
import { UnknownCredentials } from '../../server/workers/unknown-credentials'
import { WorkerCalls } from '../../server/workers/worker-calls'
import { endAndReconcile } from '../http/wire'
import { CALLER_LIMITS, type Harness, type MadeKey, openHarness, WIDE } from '../support/harness'

const NARROW: Limits = { rpm: 5, tpm: 100, concurrency: 2 }
const FREE: Route = { kind: 'priced', operation: 'image-search', scope: 'data:read' }
const ROUTE: Route = { ...FREE, takesSlot: true }
const SLOT_URL = 'http://localhost/slot'
const SIGNAL = new AbortController().signal
const ADDRESS = parseAddress('192.0.2.1')
const OPERATOR: Actor = { kind: 'operator', id: 'test', address: null }
const MODEL = 'sandbox/echo'
const MODEL_VERSION = SANDBOX_MODELS.find(({ id }) => id === MODEL)?.priceVersion ?? ''
const HUGE = micros(1_000_000_000)

/** The same promises, kept in this process or by another that is asked with frames. */
describe.each(['here', 'by a primary'])('decisions %s', (where) => {
  let gateway: Harness
  let decisions: Decisions
  let calls: WorkerCalls
  let here: LocalDecisions
  const lies: string[] = []

  beforeAll(async () => {
    gateway = await openHarness()
    const { core, clock } = gateway
    here = new LocalDecisions({ ...CALLER_LIMITS, ...core, clock, drains: new Drains() })
    const opened = overFrames(gateway, here, lies)
    calls = opened.calls
    decisions = where === 'here' ? here : opened.decisions
  })
  afterAll(async () => {
    expect(lies).toEqual([])
    await endAndReconcile(gateway)
  })

  const admitted = async (key: MadeKey | string, route: Route = FREE): Promise<AuthenticatedCall> => {
    const verdict = await admit(key, route)
    if ('failure' in verdict) throw new Error(verdict.failure.code)
    return verdict
  }
  const admit = (key: MadeKey | string, route: Route = FREE): Promise<Verdict> => asked(decisions, gateway, key, route)
  const begun = async (call: AuthenticatedCall): Promise<Allowance> => {
    const result = await decisions.begin(call)
    if (!result.ok) throw new Error(result.error.failure.code)
    return result.value
  }
  const held = async (key: MadeKey, amount = micros(1000), more: Partial<Wanted> = {}) => {
    const call = await admitted(key, more.load === undefined ? FREE : ROUTE)
    const allowance = await begun(call)
    const refusal = await allowance.hold(wanted(amount, more), SIGNAL)
    return { call, allowance, refusal }
  }
  const spent = async ({ id }: Account) => {
    const balance = await gateway.core.ledger.balance(id)
    return [2_000_000 - Number(balance?.posted), Number(balance?.held)]
  }

  test('admits a key that may call, with its windows, and counts the request', async () => {
    const account = await gateway.account(0, NARROW)
    const key = await gateway.key(account)
    const first = await admitted(key)
    expect(first.readings.requests).toMatchObject({ limit: 5, remaining: 4 })
    expect(first.caller).toMatchObject({
      kind: 'key',
      account: { id: account.id },
      key: { id: key.id },
      tier: 'enterprise',
    })
    for (let left = 3; left >= 0; left--) expect((await admitted(key)).readings.requests.remaining).toBe(left)
    expect(await admit(key)).toMatchObject({ failure: { code: 'rate_limit_exceeded', limitSource: 'key' } })
  })

  test('refuses a key that is unknown, and one from the very moment in which it was disabled', async () => {
    const account = await gateway.account(0)
    const key = await gateway.key(account)
    expect(await admit(`gwk_${'x'.repeat(49)}`)).toMatchObject({ failure: { code: 'invalid_api_key' } })
    await admitted(key)
    const owner = { accountId: account.id, tier: { ...account, toppedUp: ZERO }, actor: OPERATOR }
    await gateway.core.keys.disable(owner, key.id as KeyId)
    expect(await admit(key)).toMatchObject({ failure: { code: 'api_key_disabled' } })
  })

  test('grants as many slots as the limit has, and takes them back', async () => {
    const account = await gateway.account(0, { ...WIDE, concurrency: 2 })
    const key = await gateway.key(account)
    const [one] = [await begun(await admitted(key, ROUTE)), await begun(await admitted(key, ROUTE))]
    const third = await decisions.begin(await admitted(key, ROUTE))
    expect(third).toMatchObject({ ok: false, error: { failure: { code: 'rate_limit_exceeded' } } })
    await one.release(0)
    expect((await decisions.begin(await admitted(key, ROUTE))).ok).toBe(true)
  })

  test('gives back at once what a call took that ends without having begun, and nothing of one that began', async () => {
    const account = await gateway.account(0, { ...WIDE, concurrency: 1 })
    const key = await gateway.key(account)
    for (let calls = 0; calls < 3; calls++) {
      const call = await admitted(key, ROUTE)
      await decisions.leave(call)
      await decisions.leave(call)
    }
    const call = await admitted(key, ROUTE)
    const allowance = await begun(call)
    await decisions.leave(call)
    const second = await admitted(key, ROUTE)
    expect(await decisions.begin(second)).toMatchObject({
      ok: false,
      error: { failure: { code: 'rate_limit_exceeded' }, readings: { concurrency: { remaining: 0 } } },
    })
    await decisions.leave(second)
    await allowance.release(0)
    await begun(await admitted(key, ROUTE))
  })

  test('refuses a call of no endpoint with its own words, and takes nothing for it', async () => {
    const account = await gateway.account(0, NARROW)
    const key = await gateway.key(account)
    const unmatched = { kind: 'unmatched', failure: failure('unknown_endpoint', 'Not here.') } as const
    for (let calls = 0; calls < 3; calls++)
      expect(await admit(key, unmatched)).toMatchObject({
        failure: unmatched.failure,
        readings: { requests: { remaining: 5 }, concurrency: { remaining: 2 } },
      })
  })

  test('charges what was held, and not twice', async () => {
    const account = await gateway.account(0)
    const key = await gateway.key(account)
    const { call, allowance, refusal } = await held(key)
    expect([refusal, await spent(account)]).toEqual([null, [0, 1000]])
    const captured = await allowance.capture(charge(call, micros(300)))
    expect(captured).toEqual({ ok: true, value: { cost: micros(300), receipt: null } })
    await allowance.release(0)
    expect(await spent(account)).toEqual([300, 0])
  })

  test('gives back what was held for a call that is not charged', async () => {
    const account = await gateway.account(0)
    const { allowance } = await held(await gateway.key(account))
    await allowance.release(0)
    await allowance.release(0)
    await until(async () => (await spent(account))[1] === 0)
    expect(await spent(account)).toEqual([0, 0])
  })

  test('refuses a hold above the balance, and says what would fit', async () => {
    const account = await gateway.account(0)
    const { call, refusal } = await held(await gateway.key(account), HUGE)
    expect(refusal).toMatchObject({ kind: 'refused', failure: { code: 'insufficient_balance' } })
    expect([await decisions.spendable(call, true), await decisions.spendable(call, false)]).toEqual([
      micros(2_000_000),
      ZERO,
    ])
  })

  test('reserves likely tokens, and counts the real ones', async () => {
    const account = await gateway.account(0, NARROW)
    const key = await gateway.key(account)
    const load = (tokens: number, subjects: AuthenticatedCall['subjects']) => ({
      subjects,
      window: null,
      tokens,
      upstreams: [],
    })
    const { subjects } = await admitted(key)
    const { call, allowance } = await held(key, micros(10), { model: MODEL, load: load(60, subjects) })
    expect(allowance.readings()?.tokens.remaining).toBe(40)
    const full = await held(key, micros(10), { model: MODEL, load: load(60, subjects) })
    expect(full.refusal).toMatchObject({
      failure: { code: 'rate_limit_exceeded' },
      readings: { tokens: { remaining: 40 } },
    })
    await full.allowance.release(0)
    await allowance.capture({ ...charge(call, micros(1)), tokens: 25 })
    expect(allowance.readings()?.tokens.remaining).toBe(75)
  })

  test('keeps the hold of a stream, and the newest charge counts', async () => {
    const account = await gateway.account(0)
    const { call, allowance } = await held(await gateway.key(account))
    expect(await allowance.keep(row(call, micros(1)))).toBe(true)
    expect(await allowance.keep(row(call, micros(700)))).toBe(true)
    const captured = await allowance.capture(charge(call, micros(800)))
    expect([captured.ok, await spent(account)]).toEqual([true, [800, 0]])
  })

  test('serves exactly what a limit allows, however many calls ask at once', async () => {
    const account = await gateway.account(0)
    const key = await gateway.key(account, { spending_limit: 0.02 })
    const served = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const { call, allowance, refusal } = await held(key)
        if (refusal) return refusal.failure.code
        const captured = await allowance.capture(charge(call, micros(1000)))
        await allowance.release(0)
        return captured.ok ? 'served' : captured.error.code
      }),
    )
    expect(served.filter((code) => code === 'served')).toHaveLength(20)
    expect(new Set(served)).toEqual(new Set(['served', 'insufficient_api_key_balance']))
    expect(await spent(account)).toEqual([20_000, 0])
  })

  if (where !== 'here') {
    test('callers who guess keys reach the primary as often as their address may, and keys in use always', async () => {
      const account = await gateway.account(0)
      const [used, fresh] = [await gateway.key(account), await gateway.key(account)]
      const { primary } = overFrames(gateway, here, lies)
      let asks = 0
      const ask: Primary['ask'] = (kind, payload) => {
        asks++
        return primary.ask(kind, payload)
      }
      const remote = new RemoteDecisions({ ...primary, ask }, unknown(gateway, 5))
      const by = (key: MadeKey | string) => asked(remote, gateway, key, FREE)
      expect((await by(used)).caller.kind).toBe('key')
      const codes: unknown[] = []
      for (let i = 0; i < 100; i++) {
        const verdict = await by(`gwk_${'x'.repeat(45)}${1000 + i}`)
        codes.push('failure' in verdict && verdict.failure.code)
      }
      expect(codes.filter((code) => code === 'invalid_api_key')).toHaveLength(5)
      expect(codes.filter((code) => code === 'rate_limit_exceeded')).toHaveLength(95)
      expect((await by(used)).caller.kind).toBe('key')
      expect([asks, await by(fresh)]).toEqual([
        7,
        expect.objectContaining({ failure: expect.objectContaining({ limitSource: 'address' }) }),
      ])
      gateway.clock.advance(60_000)
      expect((await by(fresh)).caller.kind).toBe('key')
      // However many addresses there are, few wait for the primary at once.
      const few = new RemoteDecisions({ ...primary, ask }, unknown(gateway, 1000, 3))
      const waiting = await Promise.all(Array.from({ length: 10 }, () => asked(few, gateway, fresh, FREE)))
      expect(waiting.filter((verdict) => 'failure' in verdict)).toHaveLength(7)
    })

    test('a worker gets nothing of calls that are not its own, above its holds, or twice', async () => {
      const account = await gateway.account(0)
      const key = await gateway.key(account)
      const other = new WorkerCalls(partsOf(gateway, here, lies))
      const { call } = await held(key)
      const { id } = call.incoming
      const said = { ...sent(row(call, micros(1000))) }
      const above = { ...said, charged: { ...said.charged, cost: 1001 } }
      const refused = [
        await other.answer('capture', [id, 0, 0, said]),
        await other.answer('release', [id, 0]),
        await other.answer('keep', [id, said]),
        await calls.answer('capture', [id, 0, 0, above]),
        await calls.answer('keep', [id, above]),
        await calls.answer('hold', [id, { ...needs(1) }]),
        await calls.answer('capture', [makeId('req', 1), 0, 0, said]),
        await calls.answer('capture', [id, -1, 0, said]),
        await calls.answer('capture', [id, 0, 0, null]),
        await calls.answer('admit', ['api_key']),
        await calls.answer('credit', [id, 5]),
      ]
      expect(refused).toEqual(refused.map(() => []))
      expect(await spent(account)).toEqual([0, 1000])
      expect(await calls.answer('capture', [id, 0, 0, said])).toEqual([null, null])
      expect(await calls.answer('capture', [id, 0, 0, said])).toEqual([])
      expect([await spent(account), lies.length]).toEqual([[1000, 0], 12])
      // A hang-up that the capture has overtaken is no lie.
      calls.take('alone', [id, null])
      expect(lies).toHaveLength(12)
      lies.length = 0
    })

    test('a hold at a price that has changed since it was quoted takes nothing, and its call can hold again', async () => {
      const account = await gateway.account(0)
      const key = await gateway.key(account)
      await gateway.core.operator.setPrice(OPERATOR, 'image-search', account.id, micros(2000))
      const stale = await held(key)
      expect(stale.refusal).toMatchObject({ isStale: true, failure: { code: 'service_unavailable', uncharged: true } })
      expect(await spent(account)).toEqual([0, 0])
      const { version } = currentPrice(gateway.core.prices, 'image-search', account.id)
      const quote = { maxCost: micros(2000), version, fixed: true }
      expect(await stale.allowance.hold(wanted(micros(2000), { quote }), SIGNAL)).toBeNull()
      expect(await spent(account)).toEqual([0, 2000])
      await stale.allowance.release(0)
    })

    test('a hold for a model that the account may no longer call, or at another price than its own, takes nothing', async () => {
      const account = await gateway.account(0)
      const key = await gateway.key(account)
      const entry = {
        id: 'sold',
        upstream: { kind: 'openai', base_url: 'http://127.0.0.1:9/v1' },
        price: { input: 1, output: 1 },
        recharge_required: false,
      }
      const put = async (access: object) => {
        const model = await gateway.core.modelAdmin.put(OPERATOR, { ...entry, access })
        if (!model.ok) throw new Error(model.error.message)
        return model.value.priceVersion
      }
      const refusedAt = async (version: string) => {
        const load = { subjects: [], window: null, tokens: 1, upstreams: [] }
        const quote = { maxCost: micros(10), version, fixed: false }
        const { allowance, refusal } = await held(key, micros(10), {
          operation: 'chat-completions',
          model: 'sold',
          load,
          quote,
        })
        await allowance.release(0)
        return refusal?.failure.code ?? null
      }
      const open = await put({ accounts: [account.id] })
      expect(await refusedAt(open)).toBe(null)
      const { id } = await gateway.core.operator.setModelPrice(OPERATOR, account.id, 'sold', 8000)
      expect([await refusedAt(open), await refusedAt(`${open}+${id}`)]).toEqual(['service_unavailable', null])
      const closed = await put({ tiers: ['growth'] })
      expect(await refusedAt(`${closed}+${id}`)).toBe('service_unavailable')
    })

    test('an answer that one worker serves can be referred to at another, by its account alone', async () => {
      const items = new LocalItems(new ItemMemory(gateway.clock))
      const workers = [1, 2].map(() => overFrames(gateway, here, lies, items))
      const [ada, bob] = [await gateway.account(0), await gateway.account(0)]
      const admittedAt = async (worker: (typeof workers)[number] | undefined, account: Account) => {
        if (!worker) throw new Error('two workers are needed')
        const verdict = await asked(worker.decisions, gateway, await gateway.key(account), ROUTE)
        if ('failure' in verdict) throw new Error(verdict.failure.code)
        return { call: verdict, items: new RemoteItems(worker.primary) }
      }
      const first = await admittedAt(workers[0], ada)
      first.items.remember(first.call, [['msg_1', '{"a":1}']])
      const ids = Array.from({ length: 150 }, (_, i) => `msg_${i}`)
      const [other, stranger] = [await admittedAt(workers[1], ada), await admittedAt(workers[1], bob)]
      expect([...((await other.items.recall(other.call, ids)) ?? [])]).toEqual([['msg_1', '{"a":1}']])
      expect([...((await stranger.items.recall(stranger.call, ids)) ?? [])]).toEqual([])
      const said = workers[1]?.calls
      said?.take('items', [other.call.incoming.id, [['msg_1', 5]]])
      said?.take('items', [first.call.incoming.id, [['msg_1', '{}']]])
      expect(await said?.answer('recall', [first.call.incoming.id, ids.slice(0, 5)])).toEqual([])
      expect(await said?.answer('recall', [other.call.incoming.id, ids])).toEqual([])
      expect(lies).toHaveLength(4)
      lies.length = 0
      for (const { calls: served } of workers) await served.end()
    })

    describe('a charge whose answer is lost', () => {
      const open = async (limit = micros(100_000), amount = micros(1000)) => {
        const account = await gateway.account(0)
        const key = await gateway.key(account, { spending_limit: limit / 1e6 })
        const { wire, decisions: remote } = interrupted(gateway, here, lies)
        const verdict = await asked(remote, gateway, key, ROUTE)
        if ('failure' in verdict) throw new Error(verdict.failure.code)
        const begun = remote.begin(verdict)
        if (!begun.ok) throw new Error(begun.error.failure.code)
        const refusal = await begun.value.hold(wanted(amount), SIGNAL)
        if (refusal) throw new Error(refusal.failure.code)
        const capture = () => begun.value.capture(charge(verdict, amount))
        return { account, key, wire, remote, call: verdict, allowance: begun.value, capture }
      }

      test('is made once, whether it had arrived or not', async () => {
        for (const what of ['request', 'answer'] as const) {
          const { account, wire, capture, allowance } = await open()
          wire.lost.set('capture', what)
          expect(await capture()).toMatchObject({ ok: true, value: { cost: 1000 } })
          expect(await spent(account)).toEqual([1000, 0])
          expect(wire.asked.slice(2)).toEqual(
            what === 'request' ? ['capture', 'claim', 'capture'] : ['capture', 'claim'],
          )
          expect(allowance.isLost).toBe(false)
        }
      })

      test('is asked for again as often as the connection breaks', async () => {
        const { account, wire, capture } = await open()
        wire.lost.set('capture', 'request').set('claim', 'answer')
        expect((await capture()).ok).toBe(true)
        expect(await spent(account)).toEqual([1000, 0])
      })

      test('is refused, uncharged, if there are no means for it any more', async () => {
        const { account, key, wire, capture } = await open(micros(1500))
        wire.restart()
        const other = await held(key, micros(1000))
        expect(other.refusal).toBeNull()
        expect(await capture()).toMatchObject({ ok: false, error: { code: 'service_unavailable', uncharged: true } })
        await other.allowance.release(0)
        expect(await spent(account)).toEqual([0, 0])
        const disabled = await open()
        disabled.wire.restart()
        const owner = { accountId: disabled.account.id, tier: { ...disabled.account, toppedUp: ZERO }, actor: OPERATOR }
        await gateway.core.keys.disable(owner, disabled.key.id as KeyId)
        expect(await disabled.capture()).toMatchObject({ ok: false, error: { uncharged: true } })
        expect(await spent(disabled.account)).toEqual([0, 0])
      })

      test('is reversed once a primary is back, if nobody could say whether it was made', async () => {
        for (const what of ['request', 'answer'] as const) {
          const { account, key, wire, remote, capture } = await open()
          wire.lost.set('capture', what)
          const capturing = capture()
          wire.isAway = true
          const captured = await capturing
          expect(captured).toMatchObject({ ok: false, error: { code: 'service_unavailable' } })
          expect(captured.ok || captured.error.message).toContain('will be given back if it was charged')
          expect(captured.ok || captured.error.uncharged).toBeUndefined()
          expect(await remote.settled(10)).toHaveLength(1)
          expect(await spent(account)).toEqual([what === 'answer' ? 1000 : 0, 0])
          wire.isAway = false
          expect(await remote.settled(10_000)).toEqual([])
          expect(await spent(account)).toEqual([0, 0])
          // The key may spend it again.
          const pool = await gateway.core.ledger.pool(
            (await gateway.core.credentials.byId(key.id as KeyId))?.poolId as PoolId,
          )
          expect(pool?.spent).toBe(ZERO)
        }
      })

      test('two that ask at once get one charge', async () => {
        const { account, wire, call, allowance } = await open()
        wire.restart()
        const both = await Promise.all([
          allowance.capture(charge(call, micros(700))),
          allowance.capture(charge(call, micros(700))),
        ])
        expect(both.some(({ ok }) => ok)).toBe(true)
        expect((await spent(account))[1]).toBe(0)
        expect((await spent(account))[0]).toBe(700)
        lies.length = 0
      })

      test('a call that is not its own is not claimed, nor reversed, nor one that is open', async () => {
        const { account, wire, call, capture } = await open()
        const { id } = call.incoming
        const admit = ['api_key', hashSecret('x'), '', 'GET', 'http://localhost/x', '192.0.2.1', null, false]
        const foreign = makeId('req', gateway.clock.now())
        for (const said of [
          await wire.calls.answer('claim', [foreign, admit, needs(1000)]),
          await wire.calls.answer('claim', [id, admit, needs(1000)]),
          await wire.calls.answer('claim', ['req_abcdef', ['api_key'], needs(1000)]),
          await wire.calls.answer('claim', ['req_abcdef', admit, null]),
          await wire.calls.answer('abandoned', [foreign]),
          await wire.calls.answer('abandoned', [5]),
        ])
          expect(said).toEqual([])
        expect(lies).toHaveLength(6)
        lies.length = 0
        expect((await capture()).ok).toBe(true)
        expect(await spent(account)).toEqual([1000, 0])
      })

      test('gives back no charge of a call that began more than a day ago', async () => {
        const { account, wire, call, capture } = await open()
        expect((await capture()).ok).toBe(true)
        // Ids of one process never go back, and other files have other clocks.
        const begunAt = idTime('req', call.incoming.id) ?? 0
        gateway.clock.advance(begunAt - gateway.clock.now() + DAY_MS + 1)
        expect(await wire.calls.answer('abandoned', [call.incoming.id])).toEqual([true])
        expect(lies.splice(0)).toEqual([expect.stringContaining(call.incoming.id)])
        expect(await spent(account)).toEqual([1000, 0])
      })
    })

    test('a stream goes on under another primary with the hold that was kept, and is charged once', async () => {
      const account = await gateway.account(0)
      const key = await gateway.key(account)
      const before = interrupted(gateway, here, lies)
      const begin = async (remote: RemoteDecisions) => {
        const call = await asked(remote, gateway, key, FREE)
        if ('failure' in call) throw new Error(call.failure.code)
        const begun = remote.begin(call)
        if (!begun.ok) throw new Error(begun.error.failure.code)
        expect(await begun.value.hold(wanted(micros(1000)), SIGNAL)).toBeNull()
        expect(await begun.value.keep(row(call, micros(100)))).toBe(true)
        return { call, allowance: begun.value }
      }
      const { call, allowance } = await begin(before.decisions)
      const { wire } = before
      wire.restart(true)
      // Its hold was restored, as at a start.
      const { poolId } = (await gateway.core.credentials.byId(key.id as KeyId)) ?? {}
      const hold = {
        request: call.incoming.id,
        account: account.id,
        pool: poolId ?? null,
        amount: micros(1000),
        creditPays: true,
        at: 1,
      }
      const left = { hold: { ...hold, split: { credit: micros(1000), paid: ZERO } }, call: row(call, micros(100)) }
      wire.keeps(left)
      void before.decisions.claimOpen()
      await until(() => allowance.keep(row(call, micros(600))))
      expect([allowance.isLost, wire.asked.includes('claim')]).toEqual([false, true])
      expect((await allowance.capture(charge(call, micros(900)))).ok).toBe(true)
      expect(await spent(account)).toEqual([900, 0])
      // One that was settled is ended.
      const settled = await begin(before.decisions)
      wire.restart(true)
      await gateway.core.ledger.capture(micros(100), row(settled.call, micros(100)))
      void before.decisions.claimOpen()
      await until(async () => settled.allowance.isLost)
      expect(settled.allowance.isLost).toBe(true)
      expect(await settled.allowance.keep(row(settled.call, micros(600)))).toBe(false)
      await settled.allowance.release(0)
      expect(await spent(account)).toEqual([1000, 0])
    })

    test('after a restart new calls get half of a limit until those that are open have claimed their places', async () => {
      const account = await gateway.account(0, { ...WIDE, concurrency: 4 })
      const key = await gateway.key(account)
      const { wire, decisions: remote } = interrupted(gateway, here, lies)
      const begin = async (by: Decisions) => {
        const call = await asked(by, gateway, key, ROUTE)
        if ('failure' in call) throw new Error(call.failure.code)
        const begun = await by.begin(call)
        if (begun.ok) expect(await begun.value.hold(wanted(micros(1000)), SIGNAL)).toBeNull()
        return { call, begun, allowance: begun.ok ? begun.value : null }
      }
      const before = [await begin(remote), await begin(remote), await begin(remote)]
      const subjects = before[0]?.call.subjects ?? []
      const free = () => gateway.core.limiter.read(subjects).concurrency.remaining
      wire.restart()
      await until(async () => free() === 4)
      grantHalf(gateway.core.limiter, 60_000)
      const early = [await begin(decisions), await begin(decisions)]
      expect(await decisions.begin(await admitted(key, ROUTE))).toMatchObject({
        ok: false,
        error: { failure: { code: 'rate_limit_exceeded', retryAfterSeconds: 1 } },
      })
      void remote.claimOpen()
      // One of the three finds no place: it is not charged, and says so.
      await until(async () => free() === 0)
      gateway.core.limiter.part = 1
      expect((await decisions.begin(await admitted(key, ROUTE))).ok).toBe(false)
      const captured = await Promise.all(
        before.map(({ call, allowance }) => allowance?.capture(charge(call, micros(300)))),
      )
      expect(captured.map((one) => one?.ok).sort()).toEqual([false, true, true])
      for (const { allowance } of early) await allowance?.release(0)
      expect([await spent(account), free()]).toEqual([[600, 0], 4])
    })

    test('an open call that ends while it is claimed leaves nothing held', async () => {
      const account = await gateway.account(0)
      const key = await gateway.key(account)
      const { wire, decisions: remote } = interrupted(gateway, here, lies)
      const call = await asked(remote, gateway, key, ROUTE)
      if ('failure' in call) throw new Error(call.failure.code)
      const begun = remote.begin(call)
      if (!begun.ok) throw new Error(begun.error.failure.code)
      expect(await begun.value.hold(wanted(micros(1000)), SIGNAL)).toBeNull()
      wire.restart()
      await until(async () => (await spent(account))[1] === 0)
      void remote.claimOpen()
      await begun.value.release(0)
      expect([await spent(account), wire.asked.slice(2)]).toEqual([
        [0, 0],
        ['claim', 'release'],
      ])
    })

    test('a thousand open calls find their places again, and none that ended meanwhile is claimed', async () => {
      const account = await gateway.account(0)
      const key = await gateway.key(account)
      const { wire, decisions: remote } = interrupted(gateway, here, lies)
      const open = await Promise.all(
        Array.from({ length: 1000 }, async () => {
          const call = await asked(remote, gateway, key, FREE)
          const begun = 'failure' in call ? null : remote.begin(call)
          if (!begun?.ok) throw new Error('it has a place')
          expect(await begun.value.hold(wanted(micros(1000)), SIGNAL)).toBeNull()
          return begun.value
        }),
      )
      wire.restart()
      await until(async () => (await spent(account))[1] === 0)
      const claiming = remote.claimOpen()
      await open[999]?.release(0)
      await claiming
      expect([await spent(account), wire.asked.filter((kind) => kind === 'claim').length]).toEqual([[0, 999_000], 999])
      for (const allowance of open) await allowance.release(0)
      expect(await spent(account)).toEqual([0, 0])
    })

    test('a stream that did not begin, or failed, is not charged because a primary died meanwhile', async () => {
      for (const lost of ['keep', 'release'] as const) {
        const account = await gateway.account(0)
        const key = await gateway.key(account)
        const { wire, decisions: remote } = interrupted(gateway, here, lies)
        const call = await asked(remote, gateway, key, FREE)
        if ('failure' in call) throw new Error(call.failure.code)
        const begun = remote.begin(call)
        if (!begun.ok) throw new Error(begun.error.failure.code)
        expect(await begun.value.hold(wanted(micros(1000)), SIGNAL)).toBeNull()
        // Kept there, which its worker does not learn; or released, which the primary does not learn.
        wire.lost.set(lost, lost === 'keep' ? 'answer' : 'request')
        expect(await begun.value.keep(row(call, micros(100)))).toBe(lost !== 'keep')
        await begun.value.release(0)
        expect(await remote.settled(10_000)).toEqual([])
        expect([lost, await spent(account)]).toEqual([lost, [0, 0]])
      }
    })

    test('a hold without a slot is refused', async () => {
      const account = await gateway.account(0, { ...WIDE, concurrency: 1 })
      const key = await gateway.key(account)
      const first = await begun(await admitted(key, ROUTE))
      const second = await admitted(key, ROUTE)
      expect(await calls.answer('hold', [second.incoming.id, needs(1000)])).toEqual([])
      expect(lies.splice(0)).toEqual(['a hold without a slot'])
      expect(await spent(account)).toEqual([0, 0])
      await first.release(0)
    })

    test('a worker that dies leaves no hold and no slot, and its streams are charged as far as they were kept', async () => {
      const account = await gateway.account(0, { ...WIDE, concurrency: 3 })
      const key = await gateway.key(account)
      const subjects = (await admitted(key)).subjects
      const load = { subjects, window: null, tokens: 5, upstreams: [] }
      const stream = await held(key, micros(1000), { model: MODEL, load })
      await stream.allowance.keep(row(stream.call, micros(400)))
      const plain = await held(key, micros(1000), { model: MODEL, load })
      await admitted(key, ROUTE)
      await calls.end()
      expect(await spent(account)).toEqual([400, 0])
      expect(gateway.core.limiter.read(subjects).concurrency.remaining).toBe(3)
      // What it says when it wakes is not its own any more.
      expect((await plain.allowance.capture(charge(plain.call, micros(10)))).ok).toBe(false)
      expect([await spent(account), lies]).toEqual([[400, 0], ['a call that is not its own']])
      lies.length = 0
    })
  }
})

/** A worker's decisions and the primary's side of them, with JSON in between. */
function overFrames(gateway: Harness, here: LocalDecisions, lies: string[], items?: LocalItems) {
  const calls = new WorkerCalls(partsOf(gateway, here, lies, items))
  const primary: Primary = {
    hasLease: true,
    sessionNumber: 1,
    back: async () => true,
    ask: async (kind, payload) => sent(await calls.answer(kind, sent(payload))),
    tell: (kind, payload) => calls.take(kind, sent(payload)),
  }
  return { calls, primary, decisions: new RemoteDecisions(primary, unknown(gateway)) }
}

function partsOf(
  { core, clock }: Harness,
  decisions: LocalDecisions,
  lies: string[],
  items = new LocalItems(new ItemMemory(clock)),
) {
  return {
    tag: 'abcdef',
    ...recoveryOf(core),
    decisions,
    funding: { offered: async (problem: never) => problem },
    journal: core.journal,
    telemetry: NO_TELEMETRY,
    clock,
    routeOf: (_method: string, url: string) => (url === SLOT_URL ? ROUTE : FREE),
    modelOf: (id: string, buyer: ModelBuyer | null) => core.catalog.forBuyer(id, buyer),
    prices: core.prices,
    items,
    onReport: () => undefined,
    pushed: async () => undefined,
    bear: (overrun: Money) => overrun,
    isDraining: () => false,
    onListening: () => undefined,
    onLie: (what: string) => lies.push(what),
    onOverrun: () => undefined,
  }
}

/** A worker's decisions, whose primary can start again, and whose next answers can be lost. */
function interrupted(gateway: Harness, here: LocalDecisions, lies: string[]) {
  const own = partsOf(gateway, here, lies)
  const left = new Map<RequestId, DurableHold>()
  const takeKept = (id: RequestId) => {
    const one = left.get(id) ?? null
    left.delete(id)
    return one
  }
  const parts = { ...own, recovery: { ...own.recovery, takeKept } }
  const wire = {
    calls: new WorkerCalls(parts),
    /** What becomes of the next frame of a kind. */
    lost: new Map<string, 'request' | 'answer'>(),
    isAway: false,
    asked: [] as string[],
    keeps: (one: DurableHold) => void left.set(one.hold.request, one),
    /** Another session: the primary has given up the one before, or, as another process, knows nothing of it. */
    restart(isProcess = false) {
      if (!isProcess) void wire.calls.end()
      wire.calls = new WorkerCalls(parts)
      primary.sessionNumber++
    },
  }
  const primary = {
    hasLease: true,
    sessionNumber: 1,
    back: async () => !wire.isAway,
    async ask(kind: string, payload: readonly unknown[]) {
      wire.asked.push(kind)
      if (wire.isAway) return null
      const lost = wire.lost.get(kind)
      wire.lost.delete(kind)
      const answer = lost === 'request' ? null : sent(await wire.calls.answer(kind, sent(payload)))
      if (lost) wire.restart()
      return lost ? null : answer
    },
    tell: (kind: string, payload: readonly unknown[]) => wire.calls.take(kind, sent(payload)),
  }
  return { wire, decisions: new RemoteDecisions(primary, unknown(gateway)) }
}

function unknown({ clock }: Harness, rpm = 1000, maxOpen = 1000): UnknownCredentials {
  const one = new UnknownCredentials(new Limiter(new MemoryWindows(), clock), maxOpen)
  one.limits = { ...WIDE, rpm }
  return one
}

function sent<T>(value: T): T {
  return JSON.parse(JSON.stringify(value))
}

async function asked(decisions: Decisions, { clock }: Harness, key: MadeKey | string, route: Route): Promise<Verdict> {
  if (!ADDRESS) throw new Error('no address')
  const secret = typeof key === 'string' ? key : key.secret
  const incoming: IncomingCall = {
    id: makeId('req', clock.now()),
    clientRequestId: null,
    at: clock.now(),
    credential: { kind: 'api_key', hash: hashSecret(secret), problem: null },
    address: ADDRESS,
    request: { method: 'GET', url: route === ROUTE ? SLOT_URL : 'http://localhost/x' },
    route,
    budgetScope: null,
    trace: null,
  }
  return decisions.authenticate(incoming)
}

function wanted(amount: Money, more: Partial<Wanted> = {}): Wanted {
  return {
    operation: 'image-search',
    quote: { maxCost: amount, version: more.model ? MODEL_VERSION : CATALOG_VERSION, fixed: false },
    credit: 'all',
    timeoutMs: 1000,
    fingerprint: () => 'the same',
    ...more,
  }
}

function needs(maxCost: number) {
  const more = {
    operation: 'image-search',
    version: CATALOG_VERSION,
    fixed: false,
    minCost: null,
    credit: 'all',
    needsTopUp: null,
  }
  return { maxCost, load: null, timeoutMs: 1000, fingerprint: null, ...more }
}

function row(call: AuthenticatedCall, cost: Money): CallRecord {
  const charged = { cost, priceVersion: 'test', units: 1, unitPrice: cost }
  return callRecord(call, 'image-search', { status: 200, code: null, charged, now: call.incoming.at })
}

function charge(call: AuthenticatedCall, cost: Money): Capture {
  return { amount: cost, record: row(call, cost), overrun: ZERO, tokens: 0 }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 100 && !(await isSo()); tries++) await new Promise((resolve) => setImmediate(resolve))
}
