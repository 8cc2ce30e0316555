import { expect, test } from 'bun:test'
import { unprovenTests } from '../../tools/named-tests'

const row = (path: string, title: string) => `| 1 | a row | \`${path}\`: “${title}” |`
const ran = (title: string, more = '', tail = '/>') =>
  `<testcase name="${title}" classname="a group &gt; of &quot;two&quot;" time="0" file="tests/one.test.ts" line="3" assertions="2" ${more}${tail}\n`
const SOURCES: Readonly<Record<string, string>> = { 'tests/one.test.ts': "import { aContract } from './a.contract'" }
const unproven = (page: string, report: string) => unprovenTests(page, report, (file) => SOURCES[file] ?? '')
const said = 'did not run, did not pass, or asserted nothing'

test.each([
  ['whole', ran('adds up'), 'adds up'],
  ['in part', ran('adds up to the last cent'), 'adds up'],
  ['by its group', ran('adds up'), 'of "two"'],
  ['with the values of a table', ran('8 is 400'), '%p is %i'],
])('a test that ran and asserted is accepted, named %s', (_, report, title) => {
  expect(unproven(row('tests/one.test.ts', title), report)).toEqual([])
})

test('a contract’s test is accepted from a file that imports the contract, and from no other', () => {
  expect(unproven(row('tests/a.contract.ts', 'adds up'), ran('adds up'))).toEqual([])
  const elsewhere = ran('adds up').replace('one.test.ts', 'two.test.ts')
  expect(unproven(row('tests/a.contract.ts', 'adds up'), elsewhere)).toEqual([`tests/a.contract.ts: “adds up” ${said}`])
})

test.each([
  ['did not run', ran('another')],
  ['ran in another file only', ran('adds up').replace('one.test.ts', 'two.test.ts')],
  ['was skipped', ran('adds up', '', '>\n  <skipped /></testcase>')],
  ['failed', ran('adds up', '', '>\n  <failure type="AssertionError" /></testcase>')],
  ['asserted nothing', ran('adds up').replace('assertions="2"', 'assertions="0"')],
  ['is named where no test ran at all', ''],
])('a test that %s is reported', (_, report) => {
  expect(unproven(row('tests/one.test.ts', 'adds up'), report)).toEqual([`tests/one.test.ts: “adds up” ${said}`])
})
