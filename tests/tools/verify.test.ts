import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countTests, describeFailedTests, describeTestCount } from '../../tools/test-report'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'verify-test-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** The result of a real `bun test` in a process of its own, over these test files. */
async function countOf(files: Record<string, string>) {
  const { report: _, ...count } = await runOf(files)
  return count
}

async function runOf(files: Record<string, string>) {
  for (const [name, body] of Object.entries(files)) {
    await writeFile(join(folder, name), `import { expect, test } from 'bun:test'\n${body}`)
  }
  const source = `
    import { runTests } from ${JSON.stringify(join(import.meta.dir, '../../tools/checks.ts'))}
    const run = await runTests(${JSON.stringify(folder)})
    console.log(JSON.stringify({ exitCode: run.exitCode, ...run.count, report: run.report }))`
  const child = Bun.spawn([process.execPath, '-e', source], { stdout: 'pipe', stderr: 'ignore' })
  const said = await new Response(child.stdout).text()
  return JSON.parse(said.trimEnd().split('\n').at(-1) ?? '')
}

describe('counting the tests of a run', () => {
  test('distinguishes passed, failed, skipped and to-do tests', async () => {
    const body = `
      test('a', () => {})
      test('b', () => expect(1).toBe(1))
      test('c', () => expect(1).toBe(2))
      test.skip('d', () => {})
      test.todo('e')`
    expect(await countOf({ 'mixed.test.ts': body })).toEqual({ exitCode: 1, passed: 2, failed: 1, skipped: 2 })
  })

  test('adds up the files', async () => {
    const count = await countOf({ 'one.test.ts': `test('a', () => {})`, 'two.test.ts': `test('a', () => {})` })
    expect(count).toEqual({ exitCode: 0, passed: 2, failed: 0, skipped: 0 })
  })

  test('counts a file that does not load as a failure, although none of its tests failed', async () => {
    const count = await countOf({ 'good.test.ts': `test('a', () => {})`, 'bad.test.ts': `import './missing.ts'` })
    expect(count).toEqual({ exitCode: 1, passed: 1, failed: 1, skipped: 0 })
  })

  test('counts a run without any test as a failure', async () => {
    expect(await countOf({ 'none.ts': '' })).toEqual({ exitCode: 1, passed: 0, failed: 1, skipped: 0 })
  })

  test('is not misled by the output of a test that looks like a report', () => {
    const report = `<testsuites name="bun test" tests="3" failures="1" skipped="0"><failure message="&lt;testsuites tests=&quot;9&quot;"/></testsuites>`
    expect(countTests(report, 1)).toEqual({ passed: 2, failed: 1, skipped: 0 })
  })
})

describe('what verify repeats of failed tests', () => {
  test('is the message and the place of each, under its file and groups', async () => {
    const body = `
      import { describe } from 'bun:test'
      describe('sums', () => {
        test('add up', () => { expect('<a> & "b"').toBe('c') })
        test('stop', () => { throw new Error('boom') })
        test('pass', () => {})
      })`
    const lines = describeFailedTests((await runOf({ 'sums.test.ts': body })).report)
    expect(lines.filter((line) => !line.startsWith(' '))).toEqual([
      'sums.test.ts: sums > add up',
      'sums.test.ts: sums > stop',
    ])
    expect(lines).toContain('    Received: "<a> & "b""')
    expect(lines).toContain('    Error: boom')
    expect(lines.filter((line) => /^ {10}at .*sums\.test\.ts:\d+/.test(line))).toHaveLength(2)
  })

  test('is nothing for tests that passed or were skipped', async () => {
    const { report } = await runOf({ 'good.test.ts': `test('a', () => {}); test.skip('b', () => {})` })
    expect(describeFailedTests(report)).toEqual([])
  })

  test('is cut where it is long', () => {
    const text = ['first', 'second', 'third'].join('&#10;')
    const report = `<testcase name="a" file="a.test.ts"><failure type="Error">${text}</failure></testcase>`
    expect(describeFailedTests(report, 2)).toEqual(['a.test.ts: a', '    first', '    second', '    ... 1 more lines'])
  })
})

describe('a test run', () => {
  test('gets its own temporary folder, which is removed with its contents', async () => {
    const leak = join(folder, 'leak')
    const body = `
      test('leaks', async () => {
        const temporary = require('node:os').tmpdir()
        await Bun.write(temporary + '/left-behind', 'x')
        await Bun.write(${JSON.stringify(leak)}, temporary)
      })`
    expect(await countOf({ 'leaky.test.ts': body })).toMatchObject({ exitCode: 0, passed: 1 })
    const temporary = await Bun.file(leak).text()
    expect(temporary).not.toBe(tmpdir())
    expect(await Bun.file(`${temporary}/left-behind`).exists()).toBe(false)
  })
})

describe('the last line of verify', () => {
  test('names skipped tests only when there are some', () => {
    expect(describeTestCount({ passed: 12, failed: 0, skipped: 0 })).toBe('12 passed, 0 failed')
    expect(describeTestCount({ passed: 12, failed: 1, skipped: 3 })).toBe('12 passed, 1 failed, 3 skipped')
  })
})
