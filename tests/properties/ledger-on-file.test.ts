import { expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import fc from 'fast-check'
import type { RequestId } from '../../server/core/ids'
import type { Journal } from '../../server/core/ledger/journal'
import { Ledger } from '../../server/core/ledger/ledger'
import { micros } from '../../server/core/money'
import { gate, ioError, openFaulty } from '../adapters/stores/faulty-writes'
import { testDatabase } from '../support/databases/test-database'
import { audit, call, NOON, openTestStores, requestId } from '../support/ledger-parts'
import { reconcile } from '../support/reconcile'

const fault = fc.constantFrom('none', 'none', 'none', 'error before', 'error after', 'late', 'late error')
const step = fc.record({
  account: fc.nat(2),
  amount: fc.integer({ min: 1, max: 40 }),
  end: fc.constantFrom('capture', 'capture', 'capture', 'less', 'release', 'twice'),
  credit: fc.boolean(),
  /** A refund of one of eight references, so that some come twice. */
  refund: fc.option(fc.nat(7)),
  limit: fc.option(fc.nat(300)),
})

test('on a real file with failing, late and lost commits, every sum agrees and every caller paid what its answer reported', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 30, maxLength: 80, size: 'max' }),
      fc.array(fault, { minLength: 1, maxLength: 20 }),
      async (steps, faults) => {
        const { folder, charged, balances } = await live(steps, faults)
        const file = await testDatabase(folder, `${folder}/gateway.db`)
        try {
          expect((await reconcile(file)).problems).toEqual([])
          const reopened = await openTestStores({ folder })
          for (const [account, balance] of balances) expect(await reopened.holds.balance(account)).toEqual(balance)
          for (const [id, cost] of charged) {
            const [row] = await reopened.db.all<{ cost: number }>(`SELECT cost FROM requests WHERE id = '${id}'`)
            expect(row?.cost ?? 0).toBe(cost)
          }
          await reopened.close()
        } finally {
          await rm(folder, { recursive: true, force: true })
        }
      },
    ),
    // A failure that depends on time does not repeat in a smaller example.
    { numRuns: 5, endOnFailure: true },
  )
}, 180_000)

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** One life of a gateway: all steps at once, with the next fault for each group. Ends when nothing is under way. */
async function live(steps: readonly Step[], faults: readonly string[]) {
  const parts = await openFaulty({ patienceMs: 5 }, true)
  const accounts = await Promise.all([1, 2, 3].map(async () => parts.account(500)))
  const keys = await Promise.all(accounts.map((account) => parts.key(account, 300)))
  let late = gate()
  let groups = 0
  let current = 'none'
  // A group that is tried again may be late, after all its callers were answered: then no caller is left to open the gate.
  let over = false
  parts.faults.before = async () => {
    current = faults[groups++ % faults.length] ?? 'none'
    if (current.startsWith('late') && !over) await late.opened
    if (current === 'error before' || current === 'late error') throw ioError()
  }
  parts.faults.after = () => {
    if (current === 'error after') throw ioError()
  }
  // A late commit ends when somebody was told that its outcome is unknown.
  const journal: Journal = {
    note: (record) => parts.journal.note(record),
    append: (record, onEnd) =>
      parts.journal.append(record, (outcome) => {
        if (outcome.kind === 'unknown') {
          late.open()
          late = gate()
        }
        onEnd(outcome)
      }),
  }
  const alarms: string[] = []
  const ledger = new Ledger({
    holds: parts.holds,
    journal,
    bookings: parts.bookings,
    clock: { now: () => 1 },
    onReversalFailure: (request) => alarms.push(request),
  })
  const charged = new Map<RequestId, number>()
  const run = async ({ account: at, amount, end, credit, refund, limit }: Step, index: number) => {
    const [account, key] = [accounts[at], keys[at]]
    if (!account || !key) throw new Error('three accounts')
    if (limit !== null && index % 5 === 0) {
      await parts.credentials.update({ key, pool: { limit: micros(limit) } }, audit())
      await parts.holds.setPoolLimit(key.poolId, micros(limit))
    }
    if (credit)
      await ledger.credit({
        account,
        part: 'paid',
        kind: 'top_up',
        amount: micros(amount),
        description: '',
        reference: `${account}:${index}`,
      })
    if (refund !== null)
      await ledger.takeBack({
        account,
        kind: 'refund',
        amount: micros(3 * amount),
        description: '',
        reference: `${account}:back:${refund}`,
      })
    const request = requestId()
    const held = await ledger.hold({
      request,
      account,
      pool: key.poolId,
      amount: micros(amount),
      creditPays: true,
      at: NOON,
    })
    if (!held.ok) return
    charged.set(request, 0)
    const cost = micros(end === 'less' ? Math.ceil(amount / 2) : amount)
    const record = call(account, cost, { id: request, keyId: key.id })
    if (end !== 'release') {
      const captures = await Promise.all((end === 'twice' ? [1, 2] : [1]).map(() => ledger.capture(cost, record)))
      if (captures.some((captured) => captured.ok)) charged.set(request, cost)
    }
    await ledger.release(request)
  }
  await Promise.all(steps.map(run))
  over = true
  late.open()
  await parts.journal.drained()
  const balances = await Promise.all(accounts.map(async (id) => [id, await parts.holds.balance(id)] as const))
  for (const [, balance] of balances) expect(balance?.held).toBe(micros(0))
  // A reversal that the broken database refused stays charged, and is an alarm.
  for (const request of alarms) charged.delete(request as RequestId)
  await parts.close()
  return { folder: parts.folder, charged, balances }
}
