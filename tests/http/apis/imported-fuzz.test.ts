import { expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { fuzzImported } from '../../support/fuzz/imported'
import { reconcile } from '../../support/reconcile'

test('1,500 generated requests to imported operations: no 5xx, no other host or path, no secret either way, and the books agree', async () => {
  const { problems, statuses, folder, databaseFile } = await fuzzImported(1500, 20261122)
  expect(problems).toEqual([])
  expect(statuses['200'] ?? 0).toBeGreaterThan(100)
  expect(statuses['400'] ?? 0).toBeGreaterThan(100)
  expect((await reconcile(databaseFile)).problems).toEqual([])
  await rm(folder, { recursive: true, force: true })
})
