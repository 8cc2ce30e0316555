import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { makeId } from '../../server/core/ids'
import { micros } from '../../server/core/money'
import {
  ANSWER_RETENTION_MS,
  type ClaimStore,
  type ClaimTaken,
  MAX_PAID_TRIES,
  MAX_TRIES,
  MAX_UNPAID_CLAIMS,
  type NewClaim,
} from '../../server/core/payments/claim'
import { NOON } from '../support/ledger-parts'
import { newClaim } from '../support/payments/payment-claim'

export interface ClaimsUnderTest {
  readonly one: ClaimStore
  /** Another store on the same database. */
  readonly other: ClaimStore
  /** The ledger's entries of per-request payments: what each refers to, and its amount. */
  paymentEntries(): Promise<readonly { reference: string; amount: number }[]>
  /** The store with so many more claims that never paid, updated then. */
  fill(count: number, updatedAt: number): Promise<ClaimStore>
  /** The store after a restart. */
  reopened(): Promise<ClaimStore>
  close(): Promise<void>
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

function attemptOf(taken: ClaimTaken): number {
  if (taken.kind === 'refused') throw new Error('the claim was refused')
  return taken.attempt
}

/** The rules of every claim store. */
export function claimStoreContract(name: string, open: () => Promise<ClaimsUnderTest>): void {
  describe(`claim store: ${name}`, () => {
    let parts: ClaimsUnderTest
    let one: ClaimStore
    let other: ClaimStore
    beforeAll(async () => {
      parts = await open()
      one = parts.one
      other = parts.other
    })
    afterAll(() => parts.close())

    /** Brings a claim to `settled`. */
    async function paid(claim: NewClaim): Promise<void> {
      const attempt = attemptOf(await one.take(claim, NOON))
      expect(await one.settling(claim.key, attempt, NOON)).toBe(true)
      await one.settled(claim.key, `0xtx-${claim.id}`, NOON)
    }

    test('of many concurrent attempts with one credential, on two stores, exactly one wins', async () => {
      for (let round = 0; round < 10; round++) {
        const claim = newClaim()
        const tries = await Promise.all(Array.from({ length: 8 }, (_, i) => (i % 2 ? one : other).take(claim, NOON)))
        expect(tries.filter((taken) => taken.kind === 'fresh')).toHaveLength(1)
        expect(tries.filter((taken) => taken.kind === 'refused')).toHaveLength(7)
      }
    })

    test('a served one is never accepted again, also on the other store and after the lease', async () => {
      const claim = newClaim()
      await paid(claim)
      await one.served(claim.key, NOON)
      for (const store of [one, other]) expect((await store.take(claim, NOON + 1_000_000)).kind).toBe('refused')
      expect(await other.find(claim.key)).toMatchObject({ state: 'served', paid: true, reference: `0xtx-${claim.id}` })
    })

    test('a released one may be used again, and is not paid', async () => {
      const claim = newClaim()
      await one.take(claim, NOON)
      await one.release(claim.key, 'upstream 502', false, NOON)
      expect(await other.find(claim.key)).toMatchObject({ state: 'released', paid: false, lastError: 'upstream 502' })
      expect(await other.take(claim, NOON)).toEqual({ kind: 'fresh', attempt: 2 })
    })

    test('one that was paid without an answer is prepaid when used again, one attempt at a time', async () => {
      const claim = newClaim()
      await paid(claim)
      await one.markUnserved(claim.key, 'upstream 502', NOON)
      expect(await other.take({ ...claim, leaseUntil: NOON + 5000 }, NOON)).toEqual({
        kind: 'prepaid',
        attempt: 2,
        answer: null,
        isLast: false,
      })
      expect((await one.take(claim, NOON)).kind).toBe('refused')
      await other.served(claim.key, NOON)
      expect((await one.take(claim, NOON + 1_000_000)).kind).toBe('refused')
    })

    test('after a crash following the payment, it can be used again when the lease ends', async () => {
      const claim = newClaim()
      await paid(claim)
      expect((await other.take(claim, NOON)).kind).toBe('refused')
      expect((await other.take(claim, NOON + 1000)).kind).toBe('prepaid')
    })

    test('one with an unknown outcome cannot be claimed, lease or not', async () => {
      const claim = newClaim()
      await one.settling(claim.key, attemptOf(await one.take(claim, NOON)), NOON)
      expect((await other.take(claim, NOON + 1_000_000)).kind).toBe('refused')
      expect((await one.unfinished(NOON + 1000, 100)).map(({ key }) => key)).toContain(claim.key)
    })

    test('another credential, or another request, never takes a claim over', async () => {
      const claim = newClaim()
      await one.take(claim, NOON)
      await one.release(claim.key, 'upstream 502', false, NOON)
      expect((await one.take({ ...claim, credentialHash: 'another' }, NOON)).kind).toBe('refused')
      expect((await one.take({ ...claim, binding: 'another' }, NOON)).kind).toBe('refused')
    })

    test('an attempt whose lease was taken over settles nothing', async () => {
      const claim = newClaim()
      const slow = attemptOf(await one.take(claim, NOON))
      const quick = attemptOf(await other.take({ ...claim, leaseUntil: NOON + 9000 }, NOON + 1000))
      expect(await one.settling(claim.key, slow, NOON + 1001)).toBe(false)
      expect(await other.settling(claim.key, quick, NOON + 1002)).toBe(true)
      expect(await other.settling(claim.key, quick, NOON + 1003)).toBe(false)
    })

    test('a paid one is never released, and an unpaid one is never served or owed', async () => {
      const claim = newClaim()
      await paid(claim)
      await one.release(claim.key, 'too late', true, NOON)
      expect(await one.find(claim.key)).toMatchObject({ state: 'settled', paid: true })
      const unpaid = newClaim()
      await one.take(unpaid, NOON)
      await one.served(unpaid.key, NOON)
      await one.markUnserved(unpaid.key, 'x', NOON)
      await one.settled(unpaid.key, '0xnothing', NOON)
      expect(await one.find(unpaid.key)).toMatchObject({ state: 'working', paid: false, reference: null })
    })

    test("a paid call has exactly one entry in the ledger, however often it is reported; a top-up's comes with its credit", async () => {
      const claim = newClaim({ amount: micros(7000) })
      await paid(claim)
      await Promise.all([one, other].map((store) => store.settled(claim.key, '0xagain', NOON)))
      const topUp = newClaim({ purpose: 'top_up', operation: 'wallet.topup' })
      await paid(topUp)
      const entries = await parts.paymentEntries()
      expect(entries.filter(({ reference }) => reference === `payment:${claim.id}`)).toEqual([
        { reference: `payment:${claim.id}`, amount: 7000 },
      ])
      expect(entries.filter(({ reference }) => reference.includes(topUp.id))).toEqual([])
      expect(await one.find(claim.key)).toMatchObject({ reference: `0xtx-${claim.id}` })
    })

    test('of many concurrent payments of one payer, on two stores, only as many begin as it can pay together', async () => {
      for (let round = 0; round < 5; round++) {
        const payer = `0xpayer of round ${round}`
        const claims = Array.from({ length: 12 }, () => newClaim({ payer }))
        const covered = { funds: micros(17_000), since: NOON }
        const tries = await Promise.all(claims.map((claim, i) => (i % 2 ? one : other).take(claim, NOON, covered)))
        expect(tries.filter(({ kind }) => kind === 'fresh')).toHaveLength(3)
        expect(tries.filter((taken) => taken.kind === 'refused' && taken.why === 'uncovered')).toHaveLength(9)
      }
    })

    test('a payer is not charged with what it released, nor with what it paid before its balance was read', async () => {
      const payer = '0xone payer'
      const [first, second, third] = [newClaim({ payer }), newClaim({ payer }), newClaim({ payer })]
      const covered = { funds: micros(5000), since: NOON }
      await one.take(first, NOON, covered)
      expect(await one.take(second, NOON, covered)).toEqual({ kind: 'refused', why: 'uncovered' })
      expect(await one.find(second.key)).toBeNull()
      expect((await one.take(newClaim({ payer, currency: '0xother' }), NOON, covered)).kind).toBe('fresh')
      await one.release(first.key, 'upstream 502', false, NOON)
      await one.settling(second.key, attemptOf(await one.take(second, NOON, covered)), NOON)
      expect(await one.take(first, NOON, covered)).toEqual({ kind: 'refused', why: 'uncovered' })
      await one.settled(second.key, '0xtx', NOON)
      // It was asked for its balance before this was paid out of it.
      expect(await one.take(third, NOON, covered)).toEqual({ kind: 'refused', why: 'uncovered' })
      expect((await one.take(third, NOON + 2, { ...covered, since: NOON + 1 })).kind).toBe('fresh')
    })

    test('refused settlements count against the payer, and against the address for all of its payers', async () => {
      const from = { payer: '0xrefused', addressGroup: 'an address' }
      const [mine, next, elsewhere] = [newClaim(from), newClaim({ addressGroup: 'an address' }), newClaim()]
      for (const claim of [mine, next, elsewhere]) {
        await one.take(claim, NOON)
        await one.release(claim.key, 'the chain refused it', true, NOON + 10)
      }
      expect(await other.settleFailures(from, NOON)).toBe(2)
      expect(await other.settleFailures({ ...from, addressGroup: null }, NOON)).toBe(1)
      expect(await other.settleFailures({ ...from, payer: '0xanother' }, NOON)).toBe(2)
      expect(await other.settleFailures(from, NOON + 11)).toBe(0)
    })

    test('unpaid payments in progress of a payer or an address are counted, without the current one', async () => {
      const [payer, addressGroup] = ['0xbusy', 'a busy street']
      const own = newClaim({ payer, addressGroup })
      await one.take(own, NOON)
      expect(await other.openUnpaid(own)).toBe(0)
      const [byPayer, byAddress, sent] = [newClaim({ payer }), newClaim({ addressGroup }), newClaim({ payer })]
      for (const claim of [byPayer, byAddress]) await one.take(claim, NOON)
      await one.settling(sent.key, attemptOf(await one.take(sent, NOON)), NOON)
      await paid(newClaim({ payer, addressGroup }))
      expect(await other.openUnpaid(own)).toBe(3)
      await one.release(byPayer.key, 'over', false, NOON)
      await one.settled(sent.key, '0xtx', NOON)
      expect(await other.openUnpaid(own)).toBe(1)
    })

    test('a credential has a limited number of attempts; a paid one has more', async () => {
      const claim = newClaim()
      for (let i = 0; i < MAX_TRIES; i++) {
        expect((await one.take(claim, NOON)).kind).toBe('fresh')
        await one.release(claim.key, 'upstream 502', false, NOON)
      }
      expect(await other.take(claim, NOON)).toEqual({ kind: 'refused', why: 'worn_out' })
      const owed = newClaim()
      await paid(owed)
      for (let i = 1; i < MAX_PAID_TRIES; i++) {
        await one.markUnserved(owed.key, 'upstream 502', NOON)
        expect((await one.take(owed, NOON)).kind).toBe('prepaid')
      }
      await one.markUnserved(owed.key, 'upstream 502', NOON)
      expect(await other.take(owed, NOON)).toEqual({ kind: 'refused', why: 'worn_out' })
    })

    test('the answer of a caller who hung up is given to the next attempt, and deleted once delivered', async () => {
      const claim = newClaim()
      await paid(claim)
      await one.undelivered(claim.key, 1, '{"the":"answer"}', NOON)
      expect(await other.find(claim.key)).toMatchObject({ state: 'paid_unserved', deliveries: 1 })
      const taken = await other.take(claim, NOON + 1)
      expect(taken).toEqual({ kind: 'prepaid', attempt: 2, answer: '{"the":"answer"}', isLast: true })
      expect(await other.served(claim.key, NOON + 1, 1)).toBe(false)
      expect(await other.served(claim.key, NOON + 1, 2)).toBe(true)
      await one.undelivered(claim.key, 2, null, NOON + 2)
      expect(await other.take(claim, NOON + 3)).toMatchObject({ kind: 'prepaid', answer: null, isLast: true })
    })

    test('an answer is stored for a day, and while the outcome of its payment is open; it is deleted if the payment fails', async () => {
      const [owed, lost, found] = [newClaim(), newClaim(), newClaim()]
      await paid(owed)
      await one.undelivered(owed.key, 1, 'an answer', NOON)
      for (const claim of [lost, found]) {
        await one.settling(claim.key, attemptOf(await one.take(claim, NOON)), NOON)
        await one.endLease(claim.key, { reason: 'no reply', isOurs: false }, 'an answer', NOON)
      }
      await one.release(lost.key, 'never settled', true, NOON)
      await one.settled(found.key, '0xfound', NOON)
      await one.markUnserved(found.key, 'the answer was lost', NOON)
      expect(await one.take(found, NOON)).toMatchObject({ kind: 'prepaid', answer: 'an answer', isLast: false })
      expect(await one.take(lost, NOON)).toEqual({ kind: 'fresh', attempt: 2 })
      await one.settling(lost.key, 2, NOON)
      await one.settled(lost.key, '0xlost', NOON)
      await one.markUnserved(lost.key, 'the answer was lost', NOON)
      expect(await one.take(lost, NOON)).toMatchObject({ kind: 'prepaid', answer: null })
      expect(await one.take(owed, NOON + ANSWER_RETENTION_MS)).toMatchObject({
        kind: 'prepaid',
        answer: null,
        isLast: true,
      })
    })

    test('one that was refused after it was sent can turn out paid; one that was never sent cannot', async () => {
      const [sent, unsent] = [newClaim(), newClaim()]
      await one.settling(sent.key, attemptOf(await one.take(sent, NOON)), NOON)
      await one.take(unsent, NOON)
      for (const { key } of [sent, unsent]) {
        await one.release(key, 'reverted', true, NOON)
        await one.settled(key, '0xby another', NOON)
      }
      expect(await one.find(sent.key)).toMatchObject({ paid: true, reference: '0xby another' })
      expect(await one.find(unsent.key)).toMatchObject({ state: 'released', paid: false })
    })

    test('the longest due is checked first, and a check without result waits', async () => {
      const made = Array.from({ length: 3 }, (_, i) => newClaim({ leaseUntil: NOON - 5_000_000 + i }))
      for (const claim of made) await one.settling(claim.key, attemptOf(await one.take(claim, NOON)), NOON)
      const keys = made.map(({ key }) => key)
      const due = async (now: number) => (await other.unfinished(now, 2)).map(({ key }) => key)
      expect(await due(NOON)).toEqual(keys.slice(0, 2))
      await one.postpone(keys[0] ?? '', NOON + 10)
      expect(await due(NOON)).toEqual(keys.slice(1))
      expect(await one.find(keys[0] ?? '')).toMatchObject({ looks: 1, nextLookAt: NOON + 10 })
      for (const key of keys) await one.release(key, 'never settled', false, NOON)
    })

    test('unpaid calls are deleted, the newest last; one that is paid, open, or could still be paid is not', async () => {
      const at = NOON + 100 * DAY_MS
      const store = await parts.fill(MAX_UNPAID_CLAIMS, at - 3 * HOUR_MS)
      const aged = async (more: Partial<NewClaim>, ms: number) => {
        const claim = newClaim({ validBefore: null, ...more })
        await one.take(claim, at - ms)
        await one.release(claim.key, 'upstream 502', false, at - ms)
        return claim.key
      }
      const old = await aged({}, 4 * HOUR_MS)
      const young = await aged({}, HOUR_MS)
      const alive = await aged({ validBefore: at }, 4 * HOUR_MS)
      const topUp = await aged({ purpose: 'top_up' }, 30 * DAY_MS)
      const sent = newClaim({ validBefore: null })
      await one.settling(sent.key, attemptOf(await one.take(sent, at - DAY_MS)), at - DAY_MS)
      await one.release(sent.key, 'reverted', true, at - DAY_MS)
      const owed = newClaim({ createdAt: at - 30 * DAY_MS })
      await paid(owed)
      await one.markUnserved(owed.key, 'upstream 502', NOON)
      await store.prune(at)
      const kept = async (key: string) => (await one.find(key)) !== null
      expect(await kept(old)).toBe(false)
      for (const key of [young, alive, topUp, sent.key, owed.key]) expect(await kept(key)).toBe(true)
      // It deletes a part at a time.
      for (let i = 0; i < 3; i++) await store.prune(at + 8 * DAY_MS)
      for (const key of [young, alive, sent.key]) expect(await kept(key)).toBe(false)
      for (const key of [topUp, owed.key]) expect(await kept(key)).toBe(true)
    })

    test('pages follow each other without a gap, newest first, and a foreign cursor is refused', async () => {
      const account = makeId('acct', NOON)
      const made = Array.from({ length: 5 }, () => newClaim({ account, purpose: 'top_up' }))
      for (const claim of made) await one.take(claim, NOON)
      const filter = { state: null, account, purpose: null }
      const first = await one.list(filter, 3, null)
      const second = await one.list(filter, 3, first?.next ?? null)
      expect([...(first?.rows ?? []), ...(second?.rows ?? [])].map(({ id }) => id)).toEqual(
        made.map(({ id }) => id).reverse(),
      )
      expect(second?.next).toBeNull()
      expect(await one.list(filter, 3, 'foreign')).toBeNull()
      expect((await one.list({ ...filter, purpose: 'call' }, 3, null))?.rows).toEqual([])
    })

    test('after a restart the refusals are the same, and the leases of the dead process can be ended', async () => {
      const served = newClaim()
      await paid(served)
      await one.served(served.key, NOON)
      const working = newClaim()
      await one.take(working, NOON)
      const store = await parts.reopened()
      expect((await store.take(served, NOON + 1_000_000)).kind).toBe('refused')
      expect((await store.take(working, NOON)).kind).toBe('refused')
      await store.endLeases(NOON)
      expect((await store.take(working, NOON)).kind).toBe('fresh')
    })
  })
}
