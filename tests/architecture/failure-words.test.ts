import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { readSources } from './import-graph'

const ROOT = join(import.meta.dir, '..', '..')
const TEXT = /'[^'\n]*\bnot charged\b[^'\n]*'/g

/** For a payer whose payment has settled, `stillGood` of server/pipeline/paid-call.ts takes that sentence out. */
test('a failure of a call says "You were not charged." as a sentence of its own, and nothing else about it', () => {
  const texts = [...readSources(ROOT, ['server/pipeline', 'server/adapters/websearch', 'server/adapters/models'])]
    .flatMap(([, source]) => source.match(TEXT) ?? [])
    .map((text) => text.slice(1, -1))
  expect(texts.length).toBeGreaterThan(15)
  expect(texts.filter((text) => text.replace(/ You were not charged\.(?= [A-Z]|$)/, '').includes('charged'))).toEqual(
    [],
  )
})
