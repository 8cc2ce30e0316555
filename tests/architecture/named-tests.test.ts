import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
/** The sections of the specification that state something: 6 leaves everything open. */
const SECTIONS = [
  '1',
  '1.2',
  '1.3',
  '2.1',
  '2.2',
  '2.3',
  '2.4',
  '2.5',
  '3',
  '4',
  '4.1',
  '4.2',
  '4.3',
  '4.4',
  '4.5',
  '4.6',
].concat(['5.1', '5.2', '5.3', '5.4', '5.5', '7', '8', '9'])

/** The names of the tests and groups of a file, each behind those of its groups: the text that a call of `test` or `describe` ends its head with. */
function titlesIn(source: string): { readonly title: string; readonly path: string }[] {
  const heads = source.matchAll(/^([ \t]*)(?:(?:test|describe)(?:\.\w+)*|\]\))(?:<.*>)?\(\s*(['"`])((?:(?!\2).)+)\2/gms)
  const each = source.matchAll(/^([ \t]*)(?:test|describe)\.each.*\)\(\s*(['"`])((?:(?!\2).)+)\2/gm)
  const groups: { readonly indent: number; readonly title: string }[] = []
  return [...heads, ...each]
    .sort((one, other) => one.index - other.index)
    .map(([, indent = '', , title = '']) => {
      while ((groups.at(-1)?.indent ?? -1) >= indent.length) groups.pop()
      groups.push({ indent: indent.length, title })
      return { title, path: groups.map((group) => group.title).join(' > ') }
    })
}

function namedIn(page: string): string[] {
  return [...page.matchAll(/`(tests\/[^`]+)`/g)].map(([, path]) => path ?? '')
}

describe('docs/guarantees.md', () => {
  const page = read('docs/guarantees.md')

  test('names tests that exist, and for every promise at least one', () => {
    const named = namedIn(page)
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
    const empty = named.filter((path) => {
      const files = statSync(join(ROOT, path)).isDirectory()
        ? readdirSync(join(ROOT, path)).map((name) => `${path.replace(/\/$/, '')}/${name}`)
        : [path]
      return !files.some((file) => /\.(test|contract)\.ts$/.test(file) && titlesIn(read(file)).length > 0)
    })
    expect(empty).toEqual([])
    const promises = page.split('\n').filter((line) => line.startsWith('| **'))
    expect(promises.length).toBeGreaterThan(15)
    expect(promises.filter((line) => namedIn(line.split('|').at(-2) ?? '').length === 0)).toEqual([])
  })
})

/** That they ran, passed and asserted something, `bun run verify` reads from the report of the tests (server/setup/named-tests.ts). */
describe('docs/spec-coverage.md', () => {
  const rows = read('docs/spec-coverage.md')
    .split('\n')
    .flatMap((line) => {
      const [, section, row, shown] = /^\| (\d[\d.]*) \| ([^|]+) \| (.+) \|$/.exec(line) ?? []
      return section && row && shown ? [{ section, row, shown }] : []
    })

  test('has a row for every section', () => {
    expect(SECTIONS.filter((section) => !rows.some((row) => row.section === section))).toEqual([])
  })

  test.each(rows.map(({ section, row, shown }) => [section, row, shown] as const))(
    '%s, %s: names tests that exist, one of which cites the section itself or by a group that it is in',
    (section, _, shown) => {
      const named = [...shown.matchAll(/`([^`]+)`: “([^”]+)”/g)].map(([name, file = '', title = '']) => ({
        name,
        found: titlesIn(read(file)).filter((one) => one.title.includes(title)),
      }))
      expect(named.length).toBeGreaterThan(0)
      expect(named.filter(({ found }) => found.length === 0)).toEqual([])
      const cites = new RegExp(`spec (?:[\\d.]+, )*${section.replace('.', '\\.')}(?![\\d.]*\\d)`)
      expect(named.some(({ found }) => found.some(({ path }) => cites.test(path)))).toBe(true)
    },
  )
})
