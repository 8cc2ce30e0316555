import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { accountId, NOON, openTestStores } from '../support/ledger-parts'

test('a user, an account and their cell are known from the row that precedes the account', async () => {
  const { directory, cells, close } = await openTestStores()
  const id = accountId()
  await directory.place({ accountId: id, userId: 'ada', mayBeOperator: false, createdAt: NOON, cells: ['main'] })
  expect(await cells.ofUser('ada')).toBe('main')
  expect(await cells.ofAccount(id)).toBe('main')
  expect(await cells.ofUser('bob')).toBeNull()
  expect(await cells.ofAccount(accountId())).toBeNull()
  await close()
})

test('a key that no cell claimed has no row, and one that a cell claimed stays there', async () => {
  const { cells, close } = await openTestStores()
  expect(await cells.ofKey('hash')).toBeNull()
  await cells.claimKey('hash', 'c2')
  await cells.claimKey('hash', 'c2')
  await cells.claimKey('hash', 'c3')
  expect(await cells.ofKey('hash')).toBe('c2')
  expect(await cells.ofKey('HASH')).toBeNull()
  await close()
})

test('in any order of claims, each payment belongs to the first cell that asked, for all that ask', async () => {
  const { cells, close } = await openTestStores()
  await cells.add([], true)
  const asks = fc.array(fc.tuple(fc.constantFrom('p1', 'p2', 'p3'), fc.constantFrom('main', 'c2', 'c3')), {
    minLength: 1,
    maxLength: 12,
  })
  let run = 0
  await fc.assert(
    fc.asyncProperty(asks, async (asked) => {
      run++
      const answers = await Promise.all(asked.map(([claim, cell]) => cells.claimPayment(`${run} ${claim}`, cell)))
      const first = new Map<string, string>()
      for (const [claim, cell] of asked) if (!first.has(claim)) first.set(claim, cell)
      expect(answers).toEqual(asked.map(([claim]) => first.get(claim) ?? ''))
    }),
    { numRuns: 25 },
  )
  await close()
})

test('no other cell takes a payment before those of main are known, and then none that main took', async () => {
  const { cells, close } = await openTestStores()
  const tried = (claim: string) => cells.claimPayment(claim, 'c2').catch((error: unknown) => error)
  expect(await cells.claimPayment('new', 'main')).toBe('main')
  expect(await tried('other')).toMatchObject({ unavailable: true })
  await cells.add(['old', 'new'], false)
  expect(await cells.areKnown()).toBe(false)
  expect(await tried('other')).toMatchObject({ unavailable: true })
  await cells.add(['older'], true)
  await cells.add(['older'], true)
  expect(await cells.areKnown()).toBe(true)
  const taken = await Promise.all(['new', 'old', 'older', 'other'].map((claim) => cells.claimPayment(claim, 'c2')))
  expect(taken).toEqual(['main', 'main', 'main', 'c2'])
  await close()
})
