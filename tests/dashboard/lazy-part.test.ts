import { expect, test } from 'bun:test'
import { lazyPart, preloadParts } from '../../dashboard/src/ui/feedback/lazy-part'

test('parts of other pages are loaded in advance, but not for visitors who save data', async () => {
  let loads = 0
  lazyPart(async () => {
    loads++
    return () => null
  })
  await preloadParts({ saveData: true })
  expect(loads).toBe(0)
  await preloadParts({})
  expect(loads).toBe(1)
})
