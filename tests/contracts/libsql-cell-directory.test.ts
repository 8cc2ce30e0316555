import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { accountId, NOON, openTestStores } from '../support/ledger-parts'

test('a user, an account and their cell are known from the row that precedes the account', async () => {
  const { directory, cells, close } = await openTestStores()
  const id = accountId()
  await directory.assignHome({ accountId: id, userId: 'ada', mayBeOperator: false, createdAt: NOON, cells: ['main'] })
  expect(await cells.ofUser('ada')).toBe('main')
  expect(await cells.ofAccount(id)).toBe('main')
  expect(await cells.ofUser('bob')).toBeNull()
  expect(await cells.ofAccount(accountId())).toBeNull()
  await close()
})

test('a key that no cell claimed has no row, and one that a cell claimed stays there', async () => {
  const { cells, close } = await openTestStores()
  expect(await cells.ofKey('hash')).toBeNull()
  await cells.claimKey('hash', 'c2', null)
  await cells.claimKey('hash', 'c2', null)
  await cells.claimKey('hash', 'c3', null)
  expect(await cells.ofKey('hash')).toBe('c2')
  expect(await cells.ofKey('HASH')).toBeNull()
  await close()
})

test('in any order of claims, each payment belongs to the first cell that asked, for all that ask', async () => {
  const { cells, close } = await openTestStores()
  const asks = fc.array(fc.tuple(fc.constantFrom('p1', 'p2', 'p3'), fc.constantFrom('main', 'c2', 'c3')), {
    minLength: 1,
    maxLength: 12,
  })
  let run = 0
  await fc.assert(
    fc.asyncProperty(asks, async (asked) => {
      run++
      const answers = await Promise.all(asked.map(([claim, cell]) => cells.claimPayment(`${run} ${claim}`, cell, NOON)))
      const first = new Map<string, string>()
      for (const [claim, cell] of asked) if (!first.has(claim)) first.set(claim, cell)
      expect(answers).toEqual(asked.map(([claim]) => first.get(claim) ?? ''))
    }),
    { numRuns: 25 },
  )
  await close()
})

test('rows are forgotten in steps once they are kept no longer, and others never', async () => {
  const { cells, close } = await openTestStores()
  for (let i = 0; i < 5; i++) {
    await cells.claimKey(`link ${i}`, 'c2', NOON)
    await cells.claimPayment(`payment ${i}`, 'c2', NOON + i)
  }
  await cells.claimKey('key', 'c2', null)
  await cells.claimKey('ended', 'c2', null)
  await cells.claimPayment('grant:1', 'c2', null)
  await cells.endKeys(['ended', 'of nobody'], NOON)
  expect(await cells.prune(NOON - 1, 10)).toBe(false)
  expect(await cells.ofKey('ended')).toBe('c2')
  expect([await cells.prune(NOON + 3, 4), await cells.prune(NOON + 3, 4)]).toEqual([true, false])
  const names = ['link 0', 'link 4', 'ended', 'key']
  expect(await Promise.all(names.map((name) => cells.ofKey(name)))).toEqual([null, null, null, 'c2'])
  const claims = ['payment 3', 'payment 4', 'grant:1']
  expect(await Promise.all(claims.map((claim) => cells.claimPayment(claim, 'main', null)))).toEqual([
    'main',
    'c2',
    'c2',
  ])
  await close()
})
