import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { readSources } from './import-graph'

const ROOT = join(import.meta.dir, '..', '..')
/** They know no core: they run before anything is installed, without the server, or in a thread of their own. */
const OTHERS = /^server\/(setup|binary|cli|core\/clock\.ts|adapters\/websearch\/passages)/
/** A date from outside is checked before it is read. */
const BY_HAND = [
  /(?<![\d_])(86_400_000|3_600_000|60 \* 60_000)/,
  /\d \* 60_000/,
  /60 \* 1000/,
  /new Date\((?!document)[^()]+\)\.toISOString\(\)/,
]

test('lengths of time and ISO times of the server are written with core/clock.ts', () => {
  const found: string[] = []
  for (const [file, source] of readSources(ROOT, ['server'])) {
    if (OTHERS.test(file)) continue
    for (const [i, line] of source.split('\n').entries())
      if (BY_HAND.some((one) => one.test(line))) found.push(`${file}:${i + 1}: ${line.trim()}`)
  }
  expect(found).toEqual([])
})
