import { expect, test } from 'bun:test'
import { EventLoopYield } from '../../../server/core/payments/event-loop-yield'

test('each piece of work begins in a turn of the event loop of its own, first come, first served', async () => {
  const loop = new EventLoopYield()
  let turn = 0
  let isOver = false
  const count = () => {
    turn++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const begun: (readonly [piece: number, turn: number])[] = []
  await Promise.all(Array.from({ length: 20 }, (_, i) => loop.next().then(() => begun.push([i, turn]))))
  // After it was empty.
  await loop.next().then(() => begun.push([20, turn]))
  isOver = true
  expect(begun.map(([piece]) => piece)).toEqual(Array.from({ length: 21 }, (_, i) => i))
  expect(new Set(begun.map(([, at]) => at)).size).toBe(21)
})

test('a timer that is due runs between two pieces, however many wait', async () => {
  const loop = new EventLoopYield()
  const fired = Promise.withResolvers<number>()
  let begun = 0
  const pieces = Array.from({ length: 50 }, async () => {
    await loop.next()
    begun++
    // It takes longer than the timer.
    for (const began = performance.now(); performance.now() - began < 3; );
  })
  setTimeout(() => fired.resolve(begun), 1)
  expect(await fired.promise).toBeLessThan(5)
  await Promise.all(pieces)
})
