import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { compareWithChain, joinedChains, shownProblems } from '../../../server/core/payments/chain-check'
import type { Claim } from '../../../server/core/payments/claim'

const NOW = Date.UTC(2026, 10, 21)
const FROM = NOW - 7 * 86_400_000
const AT = NOW - 86_400_000
const CELLS = 3

/** A claim, the transaction that it names, and what became of it. */
const payment = fc.record({
  cell: fc.nat(CELLS - 1),
  transaction: fc.nat(6),
  units: fc.integer({ min: 1, max: 3 }),
  fate: fc.constantFrom('paid', 'paid', 'came later', 'refused'),
})
/** Money that arrived. */
const transfer = fc.record({ transaction: fc.nat(8), units: fc.integer({ min: 1, max: 4 }) })

type Payment = { readonly transaction: number; readonly units: number; readonly fate: string }

function claimOf({ transaction, units, fate }: Payment, n: number): Claim {
  const reference = `0x${transaction}`
  const paid = fate === 'paid'
  const state = paid ? 'served' : 'released'
  const names = {
    id: `pay_${n}`,
    key: `key ${n}`,
    method: 'fixture',
    transaction: reference,
    account: null,
    payer: 'p',
  }
  const facts = { amount: units, createdAt: AT, sentAt: AT, purpose: 'call', reference: paid ? reference : null }
  // What the comparison reads of a claim.
  return { ...names, ...facts, paid, state, fate } as unknown as Claim
}

function comparisonOf(claims: readonly Claim[], transfers: readonly { transaction: number; units: number }[]) {
  const between = async () =>
    transfers.map(({ transaction, units }) => ({
      ...{ reference: `0X${transaction}`, payer: 'somebody', units: BigInt(units), at: AT },
    }))
  const method = {
    name: 'fixture',
    received: { network: 'fixture', between },
    units: (amount: number) => BigInt(amount),
    lookUp: async (claim: Claim) =>
      Object(claim).fate === 'came later' ? { kind: 'settled', reference: claim.transaction } : { kind: 'never' },
  }
  const parts = {
    methods: async () => [method],
    claims: { list: async () => ({ rows: claims, next: null }) },
    ...{ clock: { now: () => NOW }, onTrouble: () => undefined },
  }
  return compareWithChain(parts as never, { from: FROM, to: NOW }, false)
}

test('payments that are divided among cells are compared with the chain as those of one cell, transaction by transaction', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(payment, { maxLength: 12 }),
      fc.array(transfer, { maxLength: 10 }),
      async (all, transfers) => {
        const claims = all.map(claimOf)
        const one = await comparisonOf(claims, transfers)
        const parts = Array.from({ length: CELLS }, (_, cell) => claims.filter((_, n) => all[n]?.cell === cell))
        const joined = joinedChains(await Promise.all(parts.map((own) => comparisonOf(own, transfers))))
        expect(joined).toMatchObject({ payments: one.payments, transfers: one.transfers, complete: true })
        // Which payment stands for a transaction may differ, and so may their order.
        const named = ({ problems }: Pick<typeof one, 'problems'>) =>
          problems
            .map(({ kind, reference, here, onChain }) => `${kind} ${reference?.toLowerCase()} ${here} of ${onChain}`)
            .sort()
        // In several cells, each payment of a transaction without transfers is a problem of its own.
        const missing = (lines: readonly string[]) => [
          ...new Set(
            lines.map((line) => (line.startsWith('transfer_missing') ? line.split(' ').slice(0, 2).join() : line)),
          ),
        ]
        expect(missing(named({ problems: joined?.problems ?? [] }))).toEqual(missing(named(one)))
      },
    ),
    { numRuns: 500 },
  )
})

test('what nobody explains stays a problem, and is named once', async () => {
  const strange = await comparisonOf([], [{ transaction: 1, units: 5 }])
  const joined = joinedChains([strange, strange, strange])
  expect(joined?.problems).toMatchObject([{ kind: 'payment_unknown', onChain: 5 }])
  expect(shownProblems(joined as never).problems).toHaveLength(1)
  const explained = await comparisonOf(
    [claimOf({ transaction: 1, units: 5, fate: 'paid' }, 1)],
    [{ transaction: 1, units: 5 }],
  )
  expect(joinedChains([strange, explained])?.problems).toEqual([])
})
