import { expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CHECKLIST } from './checklist'

test('every line of the security checklist has a test under its name', async () => {
  const files = (await readdir(import.meta.dir)).filter((name) => name.endsWith('.test.ts'))
  const sources = await Promise.all(files.map((name) => readFile(join(import.meta.dir, name), 'utf8')))
  const described = sources.join('\n').matchAll(/^describe\(CHECKLIST\.(\w+), \(\) => \{\n([\s\S]*?)^\}\)$/gm)
  const tests = new Map(
    [...described].map(([, line = '', body = '']) => [line, body.match(/\btest(\.each)?\b/g)?.length]),
  )
  expect([...tests.keys()].sort()).toEqual(Object.keys(CHECKLIST).sort())
  for (const [line, count] of tests) expect(count, line).toBeGreaterThan(0)
})
