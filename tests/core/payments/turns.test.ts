import { expect, test } from 'bun:test'
import { Turns } from '../../../server/core/payments/turns'

test('each piece of work begins in a turn of the event loop of its own, first come, first served', async () => {
  const turns = new Turns()
  let turn = 0
  let isOver = false
  const count = () => {
    turn++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const begun: (readonly [piece: number, turn: number])[] = []
  await Promise.all(Array.from({ length: 20 }, (_, i) => turns.next().then(() => begun.push([i, turn]))))
  // After it was empty.
  await turns.next().then(() => begun.push([20, turn]))
  isOver = true
  expect(begun.map(([piece]) => piece)).toEqual(Array.from({ length: 21 }, (_, i) => i))
  expect(new Set(begun.map(([, at]) => at)).size).toBe(21)
})

test('a timer that is due runs between two pieces, however many wait', async () => {
  const turns = new Turns()
  const fired = Promise.withResolvers<number>()
  let begun = 0
  const pieces = Array.from({ length: 50 }, async () => {
    await turns.next()
    begun++
    // It takes longer than the timer.
    for (const began = performance.now(); performance.now() - began < 3; );
  })
  setTimeout(() => fired.resolve(begun), 1)
  expect(await fired.promise).toBeLessThan(5)
  await Promise.all(pieces)
})
