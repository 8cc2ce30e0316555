import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { FAILURES, isFailureCode } from '../../server/http/middleware/response/failures'
import { STATUS_OF_BROKEN } from '../../server/pipeline/held-call'
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

test('a stream that fails after its headers is logged with the status that the contract gives its code', () => {
  const codes = Object.keys(STATUS_OF_BROKEN).filter(isFailureCode)
  expect(codes.length).toBe(3)
  for (const code of codes) expect(STATUS_OF_BROKEN[code], code).toBe(FAILURES[code].status)
})
