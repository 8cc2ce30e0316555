import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findCycles, readEdges, readSources } from './import-graph'
import { RULES } from './import-rules'
import { breaches } from './import-verdict'

const root = join(import.meta.dir, '../..')

test('no file of the tests reaches itself', () => {
  const sources = readSources(root, ['tests'])
  expect(sources.size).toBeGreaterThan(500)
  expect(findCycles(readEdges(sources))).toEqual([])
})

test('every import of server, dashboard and tools is allowed by the table of import-rules.ts', () => {
  const sources = readSources(root, ['server', 'dashboard/src', 'tools'])
  expect(sources.size).toBeGreaterThan(10)
  expect(breaches(sources, RULES, (path) => existsSync(join(root, path)))).toEqual([])
})
