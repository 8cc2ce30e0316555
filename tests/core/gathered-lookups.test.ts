import { describe, expect, test } from 'bun:test'
import { GatheredLookups } from '../../server/core/gathered-lookups'
import { reasonOf } from '../../server/core/result'
import { isUnavailable } from '../../server/core/unavailable'

/** Reads that end when the test says so. */
function slowReads(maxWaitMs?: number) {
  const reads: { readonly names: readonly string[]; readonly end: PromiseWithResolvers<void> }[] = []
  const pauses: PromiseWithResolvers<void>[] = []
  const read = async (names: readonly string[]) => {
    const end = Promise.withResolvers<void>()
    reads.push({ names, end })
    await end.promise
    return new Map(names.filter((name) => name.startsWith('known')).map((name) => [name, name.length]))
  }
  const lookups = new GatheredLookups(
    read,
    () => {
      const pause = Promise.withResolvers<void>()
      pauses.push(pause)
      return pause.promise
    },
    maxWaitMs,
  )
  /** Ends the pause after a read, so that the next one begins. */
  const endPause = async () => {
    pauses.at(-1)?.resolve()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { reads, lookups, endPause }
}

describe('lookups that are gathered', () => {
  test('a name requested during a read, or soon after it, is looked up by the next one, each name once', async () => {
    const { reads, lookups, endPause } = slowReads()
    const first = lookups.of('known')
    const later = ['known', 'made-up', 'known-2', 'made-up'].map((name) => lookups.of(name))
    reads[0]?.end.resolve()
    expect(await first).toBe(5)
    expect(reads.length).toBe(1)
    await endPause()
    reads[1]?.end.resolve()
    expect(await Promise.all(later)).toEqual([5, null, 7, null])
    expect(reads.map(({ names }) => names)).toEqual([['known'], ['known', 'made-up', 'known-2']])
  })

  test('a read that fails fails its own names alone', async () => {
    const { reads, lookups, endPause } = slowReads()
    const [first, later] = [lookups.of('known'), lookups.of('known-2')]
    reads[0]?.end.reject(new Error('away'))
    expect(await first.catch(reasonOf)).toBe('away')
    await endPause()
    reads[1]?.end.resolve()
    expect(await later).toBe(7)
  })

  test('a read that does not end blocks no caller, and an abandoned name is not looked up later', async () => {
    const { reads, lookups, endPause } = slowReads(150)
    const late = ['known', 'made-up', 'made-up'].map((name) => lookups.of(name).catch((error: unknown) => error))
    const errors = await Promise.all(late)
    expect(errors.map(isUnavailable)).toEqual([true, true, true])
    const next = lookups.of('known-2')
    reads[0]?.end.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    await endPause()
    reads[1]?.end.resolve()
    expect(await next).toBe(7)
    expect(reads.map(({ names }) => names)).toEqual([['known'], ['known-2']])
  })

  test('a flood of 10,000 names costs few reads', async () => {
    let reads = 0
    const lookups = new GatheredLookups<number>(async () => {
      reads++
      return new Map()
    })
    const all = await Promise.all(Array.from({ length: 10_000 }, (_, i) => lookups.of(`made-up-${i}`)))
    expect(all.every((found) => found === null)).toBe(true)
    expect(reads).toBeLessThanOrEqual(12)
  })
})
