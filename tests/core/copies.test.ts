import { expect, test } from 'bun:test'
import { Copies } from '../../server/core/copies'
import { until } from '../support/until'

/** A table with one number, and its copy in memory. */
function openTable() {
  const table = { stored: 1, known: 0, reads: 0, isSilent: false }
  const copy = {
    async read() {
      table.reads++
      if (table.isSilent) throw new Error('the database does not answer')
      const { stored } = table
      return () => {
        table.known = stored
      }
    },
  }
  return { table, copy }
}

test('a copy is read when it is added, and again after a write of unknown outcome', async () => {
  const { table, copy } = openTable()
  const steps: string[] = []
  const copies = new Copies(async () => void steps.push(`settled before read ${table.reads + 1}`))
  await copies.add(copy)
  expect(table.known).toBe(1)
  table.stored = 2
  copies.doubt()
  await until(() => table.known === 2)
  expect(steps).toEqual(['settled before read 2'])
})

test('it is read until the database answers, and no more once it is closed', async () => {
  const { table, copy } = openTable()
  const copies = new Copies(async () => undefined)
  await copies.add(copy)
  Object.assign(table, { isSilent: true, stored: 2 })
  copies.doubt()
  copies.doubt()
  await until(() => table.reads > 2)
  table.isSilent = false
  await until(() => table.known === 2)
  Object.assign(table, { isSilent: true, stored: 3 })
  copies.doubt()
  await until(() => table.reads > 4)
  copies.close()
  const { reads } = table
  await Bun.sleep(600)
  expect(table.reads).toBeLessThanOrEqual(reads + 1)
})
