import { describe, expect, test } from 'bun:test'
import { KeyedMutex } from '../../server/core/keyed-mutex'

describe('tasks of a keyed mutex', () => {
  test('of one key run one after the other, in the order requested', async () => {
    const turns = new KeyedMutex()
    const log: string[] = []
    const gates = [1, 2, 3].map(() => Promise.withResolvers<void>())
    const all = gates.map(({ promise }, i) =>
      turns.take('a', async () => {
        log.push(`begin ${i}`)
        await promise
        log.push(`end ${i}`)
        return i
      }),
    )
    for (const { resolve } of [...gates].reverse()) resolve()
    expect(await Promise.all(all)).toEqual([0, 1, 2])
    expect(log).toEqual(['begin 0', 'end 0', 'begin 1', 'end 1', 'begin 2', 'end 2'])
  })

  test('of different keys run concurrently', async () => {
    const turns = new KeyedMutex()
    const stuck = Promise.withResolvers<string>()
    const first = turns.take('a', () => stuck.promise)
    expect(await turns.take('b', async () => 'b')).toBe('b')
    stuck.resolve('a')
    expect(await first).toBe('a')
  })

  test('continue after one that failed, whose failure is its own', async () => {
    const turns = new KeyedMutex()
    const failed = turns.take('a', () => Promise.reject(new Error('mine')))
    const next = turns.take('a', async () => 'next')
    await expect(failed).rejects.toThrow('mine')
    expect(await next).toBe('next')
    expect(await turns.take('a', async () => 'later')).toBe('later')
  })

  test('see what the one before left', async () => {
    const turns = new KeyedMutex()
    let count = 0
    const increment = async () => {
      const seen = count
      await Promise.resolve()
      count = seen + 1
    }
    await Promise.all(Array.from({ length: 50 }, () => turns.take('a', increment)))
    expect(count).toBe(50)
  })
})
