import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { makeId } from '../../server/core/ids'
import { micros } from '../../server/core/money'
import type { ClaimStore, NewClaim, Taken } from '../../server/core/payments/claim'
import { NOON } from '../support/ledger-parts'
import { newClaim } from '../support/payment-claim'

export interface ClaimsUnderTest {
  readonly one: ClaimStore
  /** Another store on the same database. */
  readonly other: ClaimStore
  /** The ledger's entries of per-request payments: what each refers to, and its amount. */
  paymentEntries(): Promise<readonly { reference: string; amount: number }[]>
  /** The store after a restart. */
  reopened(): Promise<ClaimStore>
  close(): Promise<void>
}

function attemptOf(taken: Taken): number {
  if (taken.kind === 'refused') throw new Error('the claim was refused')
  return taken.attempt
}

/** What every claim store keeps to, whatever it is made of (facts/payments 3). */
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

    test('of many tries of one credential at once, on two stores, exactly one wins', async () => {
      for (let round = 0; round < 10; round++) {
        const claim = newClaim()
        const tries = await Promise.all(Array.from({ length: 8 }, (_, i) => (i % 2 ? one : other).take(claim, NOON)))
        expect(tries.filter((taken) => taken.kind === 'fresh')).toHaveLength(1)
        expect(tries.filter((taken) => taken.kind === 'refused')).toHaveLength(7)
      }
    })

    test('what was served is never taken again, on the other store and after the lease as well', async () => {
      const claim = newClaim()
      await paid(claim)
      await one.served(claim.key, NOON)
      for (const store of [one, other]) expect((await store.take(claim, NOON + 1_000_000)).kind).toBe('refused')
      expect(await other.find(claim.key)).toMatchObject({ state: 'served', paid: true, reference: `0xtx-${claim.id}` })
    })

    test('a released one may come again, and is not paid', async () => {
      const claim = newClaim()
      await one.take(claim, NOON)
      await one.release(claim.key, 'upstream 502', false, NOON)
      expect(await other.find(claim.key)).toMatchObject({ state: 'released', paid: false, lastError: 'upstream 502' })
      expect(await other.take(claim, NOON)).toEqual({ kind: 'fresh', attempt: 2 })
    })

    test('one that was paid and got no answer comes again as prepaid, once at a time', async () => {
      const claim = newClaim()
      await paid(claim)
      await one.owe(claim.key, 'upstream 502', NOON)
      expect(await other.take({ ...claim, leaseUntil: NOON + 5000 }, NOON)).toEqual({ kind: 'prepaid', attempt: 2 })
      expect((await one.take(claim, NOON)).kind).toBe('refused')
      await other.served(claim.key, NOON)
      expect((await one.take(claim, NOON + 1_000_000)).kind).toBe('refused')
    })

    test('a crash after the payment leaves it free to come again when the lease is over', async () => {
      const claim = newClaim()
      await paid(claim)
      expect((await other.take(claim, NOON)).kind).toBe('refused')
      expect((await other.take(claim, NOON + 1000)).kind).toBe('prepaid')
    })

    test('one of unknown fate is taken by nobody, lease or not', async () => {
      const claim = newClaim()
      await one.settling(claim.key, attemptOf(await one.take(claim, NOON)), NOON)
      expect((await other.take(claim, NOON + 1_000_000)).kind).toBe('refused')
      expect((await one.unfinished(NOON + 1000, 100)).map(({ key }) => key)).toContain(claim.key)
    })

    test('another credential, or another request, never takes over', async () => {
      const claim = newClaim()
      await one.take(claim, NOON)
      await one.release(claim.key, 'upstream 502', false, NOON)
      expect((await one.take({ ...claim, credentialHash: 'another' }, NOON)).kind).toBe('refused')
      expect((await one.take({ ...claim, binding: 'another' }, NOON)).kind).toBe('refused')
    })

    test('a try whose lease was taken over settles nothing', async () => {
      const claim = newClaim()
      const slow = attemptOf(await one.take(claim, NOON))
      const quick = attemptOf(await other.take({ ...claim, leaseUntil: NOON + 9000 }, NOON + 1000))
      expect(await one.settling(claim.key, slow, NOON + 1001)).toBe(false)
      expect(await other.settling(claim.key, quick, NOON + 1002)).toBe(true)
      expect(await other.settling(claim.key, quick, NOON + 1003)).toBe(false)
    })

    test('nothing that is paid is ever released, and nothing unpaid is served or owed', async () => {
      const claim = newClaim()
      await paid(claim)
      await one.release(claim.key, 'too late', true, NOON)
      expect(await one.find(claim.key)).toMatchObject({ state: 'settled', paid: true })
      const unpaid = newClaim()
      await one.take(unpaid, NOON)
      await one.served(unpaid.key, NOON)
      await one.owe(unpaid.key, 'x', NOON)
      await one.settled(unpaid.key, '0xnothing', NOON)
      expect(await one.find(unpaid.key)).toMatchObject({ state: 'working', paid: false, reference: null })
    })

    test("a paid call has exactly one entry in the ledger, however often it is told; a top-up's comes with its credit", async () => {
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

    test("a payer's open payments are summed, and its refused settlements counted", async () => {
      const payer = '0xone payer'
      const [first, second, third] = [newClaim({ payer }), newClaim({ payer }), newClaim({ payer })]
      for (const claim of [first, second, third]) await one.take(claim, NOON)
      expect(await other.openSum(payer, first.key)).toBe(micros(10_000))
      await one.release(second.key, 'upstream 502', false, NOON)
      await one.release(third.key, 'the chain refused it', true, NOON + 10)
      expect(await other.openSum(payer, 'none')).toBe(micros(5000))
      expect(await other.settleFailures(payer, NOON)).toBe(1)
      expect(await other.settleFailures(payer, NOON + 11)).toBe(0)
    })

    test('a page follows the other without a gap, newest first, and a foreign cursor is none', async () => {
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

    test('after a restart the same is refused, and the leases of the dead process can be ended', async () => {
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
