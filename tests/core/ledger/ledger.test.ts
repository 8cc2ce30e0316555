import { beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { MemoryHolds } from '../../../server/adapters/stores/memory/holds'
import type { AccountId, PoolId, RequestId } from '../../../server/core/ids'
import type { Booked, Bookings } from '../../../server/core/ledger/bookings'
import type { Split } from '../../../server/core/ledger/hold'
import type { AppendOutcome, GroupFate, Journal, JournalRecord } from '../../../server/core/ledger/journal'
import { Ledger } from '../../../server/core/ledger/ledger'
import { micros, ZERO } from '../../../server/core/money'
import { accountId, call, NOON, poolId, requestId } from '../../support/ledger-parts'

const REFUSED: AppendOutcome = { kind: 'refused', reason: 'test', constraint: null }
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A journal that gives the answers it was handed, in order, and commits when it has none. */
class ScriptedJournal implements Journal, Bookings {
  readonly appended: JournalRecord[] = []
  readonly answers: (AppendOutcome | Promise<AppendOutcome>)[] = []

  append(record: JournalRecord, onEnd: (outcome: AppendOutcome) => void): void {
    this.appended.push(record)
    void Promise.resolve(this.answers.shift() ?? { kind: 'committed' as const }).then(onEnd)
  }

  note(): void {}

  /** The bookings so far, as the look-up has them. */
  readonly references: string[] = []

  /** The charge of a call, and its refund by an operator, as the look-up has it. */
  charged: Split | null = null
  refunded = 0

  async chargeOf() {
    return this.charged
  }

  async isGivenAgain() {
    return false
  }

  async under(): Promise<Booked> {
    return { references: this.references, takenBack: micros(-this.refunded) }
  }

  /** The next answer is "unknown"; the fate follows from its result. */
  unknown(): (fate: GroupFate) => Promise<void> {
    const { promise: fate, resolve } = Promise.withResolvers<GroupFate>()
    this.answers.push({ kind: 'unknown', fate })
    return (how) => {
      resolve(how)
      return settled()
    }
  }
}

let journal: ScriptedJournal
let holds: MemoryHolds
let ledger: Ledger
let alarms: string[]
let account: AccountId
let pool: PoolId

beforeEach(() => {
  journal = new ScriptedJournal()
  holds = new MemoryHolds()
  alarms = []
  ;[account, pool] = [accountId(), poolId()]
  holds.restoreAccount(account, micros(60), micros(40), micros(40))
  holds.restorePool({ id: pool, account, limit: micros(80) }, ZERO)
  const onReversalFailure = (request: RequestId, reason: string) => alarms.push(`${request}: ${reason}`)
  ledger = new Ledger({ holds, journal, bookings: journal, clock: { now: () => 77 }, onReversalFailure })
})

const balance = async () => {
  const all = await ledger.balance(account)
  return {
    credit: Number(all?.credit),
    paid: Number(all?.paid),
    held: Number(all?.held),
    available: Number(all?.available),
  }
}
async function held(amount: number): Promise<RequestId> {
  const request = requestId()
  const granted = await ledger.hold({ request, account, pool, amount: micros(amount), creditPays: true, at: NOON })
  if (!granted.ok) throw new Error(String(granted.error))
  return request
}
const capture = (id: RequestId, amount: number) => ledger.capture(micros(amount), call(account, amount, { id }))

describe('capture', () => {
  test('writes one transaction with an entry for each part of the balance, with its call, balance and spent', async () => {
    const id = await held(70)
    expect(await capture(id, 70)).toEqual({ ok: true, value: { request: id, amount: micros(70) } })
    const [record] = journal.appended
    expect(record?.call?.id).toBe(id)
    expect(record?.change).toEqual({ accountId: account, credit: -60, paid: -10, toppedUp: 0 })
    expect(record?.spent).toEqual({ poolId: pool, amount: 70 })
    expect(record?.entries.map(({ debit, credit, amount }) => [debit, credit, Number(amount)])).toEqual([
      [`${account}/credit`, 'house/revenue', 60],
      [`${account}/paid`, 'house/revenue', 10],
    ])
    expect(new Set(record?.entries.map((entry) => entry.transaction)).size).toBe(1)
    expect(await balance()).toEqual({ credit: 0, paid: 30, held: 0, available: 30 })
  })

  test('moves no counter before the journal has committed', async () => {
    const { promise, resolve } = Promise.withResolvers<AppendOutcome>()
    journal.answers.push(promise)
    const id = await held(10)
    const captured = capture(id, 10)
    await settled()
    expect(await balance()).toEqual({ credit: 60, paid: 40, held: 10, available: 90 })
    expect((await ledger.pool(pool))?.spent).toBe(ZERO)
    resolve({ kind: 'committed' })
    expect((await captured).ok).toBe(true)
    expect(await balance()).toEqual({ credit: 50, paid: 40, held: 0, available: 90 })
  })

  test('of less than was held releases the rest', async () => {
    const id = await held(50)
    await capture(id, 20)
    expect(await balance()).toEqual({ credit: 40, paid: 40, held: 0, available: 80 })
  })

  test('of nothing records the call and moves nothing', async () => {
    const id = await held(0)
    expect((await capture(id, 0)).ok).toBe(true)
    expect(journal.appended[0]).toMatchObject({ entries: [], call: { id } })
    expect(journal.appended[0]?.change).toBeUndefined()
  })

  test('repeated returns the same result and writes nothing; with another amount it is refused', async () => {
    const id = await held(50)
    const first = await capture(id, 50)
    expect(await capture(id, 50)).toEqual(first)
    expect(await capture(id, 49)).toEqual({ ok: false, error: 'settled_differently' })
    expect(journal.appended).toHaveLength(1)
  })

  test('that the journal refuses charges nothing and releases the hold', async () => {
    journal.answers.push(REFUSED)
    const id = await held(50)
    expect(await capture(id, 50)).toEqual({ ok: false, error: 'not_durable' })
    expect(await balance()).toEqual({ credit: 60, paid: 40, held: 0, available: 100 })
    expect(await capture(id, 50)).toEqual({ ok: false, error: 'unknown_hold' })
  })

  test('that fails before it reaches the journal charges nothing and releases the hold', async () => {
    const id = await held(50)
    const append = spyOn(journal, 'append').mockImplementationOnce(() => {
      throw new Error('a fault')
    })
    await expect(capture(id, 50)).rejects.toThrow('a fault')
    append.mockRestore()
    expect(await balance()).toEqual({ credit: 60, paid: 40, held: 0, available: 100 })
    expect([await capture(id, 50), journal.appended.length]).toEqual([{ ok: false, error: 'unknown_hold' }, 0])
  })

  test('in progress is not undone by a release of the same call', async () => {
    const { promise, resolve } = Promise.withResolvers<AppendOutcome>()
    journal.answers.push(promise)
    const id = await held(50)
    const captured = capture(id, 50)
    await ledger.release(id)
    expect((await balance()).held).toBe(50)
    resolve({ kind: 'committed' })
    expect((await captured).ok).toBe(true)
    expect((await balance()).available).toBe(50)
  })
})

describe('a capture whose outcome is unknown', () => {
  test('keeps its hold until its outcome is known', async () => {
    const tell = journal.unknown()
    const id = await held(50)
    expect(await capture(id, 50)).toEqual({ ok: false, error: 'outcome_unknown' })
    await ledger.release(id)
    expect(await balance()).toEqual({ credit: 60, paid: 40, held: 50, available: 50 })
    expect(await capture(id, 50)).toEqual({ ok: false, error: 'settling' })
    await tell('refused')
    expect(await balance()).toEqual({ credit: 60, paid: 40, held: 0, available: 100 })
    expect(journal.appended).toHaveLength(1)
  })

  test("and was committed is reversed: the money, both parts, and the pool's spent are restored", async () => {
    const tell = journal.unknown()
    const id = await held(70)
    await capture(id, 70)
    await tell('committed')
    expect(await balance()).toEqual({ credit: 60, paid: 40, held: 0, available: 100 })
    expect(await ledger.pool(pool)).toMatchObject({ spent: ZERO, held: ZERO })
    const [charged, undone] = journal.appended
    expect(undone?.undoes?.id).toBe(id)
    expect(undone?.spent).toEqual({ poolId: pool, amount: -70 })
    expect(undone?.entries.map(({ debit, credit, amount }) => [debit, credit, amount])).toEqual(
      charged?.entries.map(({ debit, credit, amount }) => [credit, debit, amount]) ?? [],
    )
    expect(await capture(id, 70)).toEqual({ ok: false, error: 'unknown_hold' })
    expect(alarms).toEqual([])
  })

  test('leaves the money spent while its reversal is in progress, so that it is never spent twice', async () => {
    const tell = journal.unknown()
    const { promise, resolve } = Promise.withResolvers<AppendOutcome>()
    journal.answers.push(promise)
    const id = await held(70)
    await capture(id, 70)
    await tell('committed')
    expect(await balance()).toEqual({ credit: 0, paid: 30, held: 0, available: 30 })
    resolve({ kind: 'committed' })
    await settled()
    expect((await balance()).available).toBe(100)
  })

  test('whose reversal is refused raises an alarm, and the counters stay with the journal', async () => {
    const tell = journal.unknown()
    journal.answers.push(REFUSED)
    const id = await held(70)
    await capture(id, 70)
    await tell('committed')
    expect(alarms).toEqual([`${id}: the reversal was refused`])
    expect(await balance()).toEqual({ credit: 0, paid: 30, held: 0, available: 30 })
  })

  test('whose reversal is unknown as well resolves as the reversal does', async () => {
    const tell = journal.unknown()
    const tellReversal = journal.unknown()
    await capture(await held(70), 70)
    await tell('committed')
    expect((await balance()).available).toBe(30)
    await tellReversal('committed')
    expect((await balance()).available).toBe(100)
  })
})

describe('credit', () => {
  const credit = (reference = 'one') =>
    ledger.credit({
      account,
      part: 'paid',
      kind: 'top_up',
      amount: micros(25),
      description: 'Top-up',
      reference,
    })

  test('is available and counts toward the tier once durable, from the house account', async () => {
    expect((await credit()).ok).toBe(true)
    expect(journal.appended[0]?.entries).toMatchObject([
      { debit: 'house/top_ups', credit: `${account}/paid`, at: 77, reference: 'one' },
    ])
    expect(await ledger.balance(account)).toMatchObject({ paid: micros(65), toppedUp: micros(65) })
  })

  test('that was already booked, or is not durable, adds nothing', async () => {
    journal.answers.push({ ...REFUSED, constraint: 'reference' }, { ...REFUSED, constraint: 'other' }, REFUSED)
    expect(await credit()).toEqual({ ok: false, error: 'already_booked' })
    // Refused by another rule, it is not booked, and must not be called so: its payer would never get the money.
    expect(await credit()).toEqual({ ok: false, error: 'not_durable' })
    expect(await credit()).toEqual({ ok: false, error: 'not_durable' })
    expect((await balance()).paid).toBe(40)
  })

  test('whose outcome is unknown is added when it turns out committed, and only then', async () => {
    for (const [reference, fate, paid] of [
      ['one', 'refused', 40],
      ['two', 'committed', 65],
    ] as const) {
      const tell = journal.unknown()
      expect(await credit(reference)).toEqual({ ok: false, error: 'outcome_unknown' })
      expect((await balance()).paid).toBe(40)
      await tell(fate)
      expect((await balance()).paid).toBe(paid)
    }
  })

  test('for an account whose last move has an unknown outcome is refused, because its debt is unknown, and booked afterwards', async () => {
    const tell = journal.unknown()
    expect(await credit('one')).toEqual({ ok: false, error: 'outcome_unknown' })
    expect(await credit('two')).toEqual({ ok: false, error: 'not_durable' })
    expect(await takeBack('back')).toEqual({ ok: false, error: 'not_durable' })
    await tell('committed')
    expect((await credit('two')).ok).toBe(true)
    expect((await balance()).paid).toBe(90)
  })
})

const takeBack = (reference: string, amount = 50) =>
  ledger.takeBack({ account, kind: 'refund', amount: micros(amount), description: 'Refund', reference })
const debt = async () => Number((await ledger.balance(account))?.debt)

describe('a refund that is reversed', () => {
  test('that was already booked moves no counter, not even briefly', async () => {
    journal.references.push('one')
    const gate = Promise.withResolvers<AppendOutcome>()
    journal.answers.push(gate.promise)
    const again = takeBack('one')
    await settled()
    expect(await balance()).toEqual({ credit: 60, paid: 40, held: 0, available: 100 })
    expect([await again, journal.appended]).toEqual([{ ok: false, error: 'already_booked' }, []])
  })

  test('reserves what is paid until it is durable; balance and debt follow the journal', async () => {
    const gate = Promise.withResolvers<AppendOutcome>()
    journal.answers.push(gate.promise)
    const taken = takeBack('one')
    await settled()
    expect([await balance(), await debt()]).toEqual([{ credit: 60, paid: 40, held: 40, available: 60 }, 0])
    gate.resolve({ kind: 'committed' })
    expect((await taken).ok).toBe(true)
    expect([await balance(), await debt()]).toEqual([{ credit: 60, paid: 0, held: 0, available: 0 }, 10])
    expect(journal.appended[0]?.entries.map((entry) => [entry.debit, Number(entry.amount), entry.reference])).toEqual([
      [`${account}/paid`, 40, 'one'],
      [`${account}/debt`, 10, null],
    ])
  })

  test('that is not booked leaves everything as it was, whenever that becomes known', async () => {
    const before = await ledger.balance(account)
    journal.answers.push(REFUSED)
    expect(await takeBack('one')).toEqual({ ok: false, error: 'not_durable' })
    expect(await ledger.balance(account)).toEqual(before)
    const tell = journal.unknown()
    expect(await takeBack('two')).toEqual({ ok: false, error: 'outcome_unknown' })
    expect((await balance()).held).toBe(40)
    await tell('refused')
    expect(await ledger.balance(account)).toEqual(before)
  })

  test('twice concurrently, of which the journal books one: no credit repays the debt of the other', async () => {
    journal.answers.push({ kind: 'committed' }, { ...REFUSED, constraint: 'reference' })
    const won = () =>
      ledger.credit({
        account,
        part: 'paid',
        kind: 'dispute',
        amount: micros(40),
        description: 'Won',
        reference: 'one:won',
      })
    const ends = await Promise.all([takeBack('one', 40), takeBack('one', 40), won()])
    expect(ends.map((end) => (end.ok ? 'booked' : end.error))).toEqual(['booked', 'already_booked', 'booked'])
    expect([await balance(), await debt()]).toEqual([{ credit: 60, paid: 40, held: 0, available: 100 }, 0])
  })

  test('while a call holds the money leaves a debt, which the next call pays once that hold is released', async () => {
    const id = await held(75)
    await takeBack('one', 30)
    expect([await debt(), (await balance()).available]).toEqual([5, 0])
    await ledger.release(id)
    const next = await held(70)
    expect([await debt(), await balance()]).toEqual([0, { credit: 60, paid: 10, held: 70, available: 0 }])
    const offset = journal.appended.at(-1)
    expect(offset?.entries).toMatchObject([
      { kind: 'offset', debit: `${account}/paid`, credit: `${account}/debt`, amount: 5 },
    ])
    expect(offset?.change).toEqual({ accountId: account, credit: 0, paid: -5, toppedUp: 0, debt: -5 })
    await capture(next, 70)
  })

  test('while calls hold the money: of many concurrent calls that pay the debt, none is refused because of it', async () => {
    const id = await held(75)
    await takeBack('one', 30)
    await ledger.release(id)
    const amount = micros(10)
    const calls = Array.from({ length: 7 }, () =>
      ledger.hold({ request: requestId(), account, pool, amount, creditPays: true, at: NOON }),
    )
    expect((await Promise.all(calls)).map(({ ok }) => ok)).toEqual([true, true, true, true, true, true, true])
    expect([await debt(), await balance()]).toEqual([0, { credit: 60, paid: 10, held: 70, available: 0 }])
    expect(journal.appended.filter(({ entries }) => entries[0]?.kind === 'offset')).toHaveLength(1)
  })
})
