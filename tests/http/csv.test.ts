import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { csvLine } from '../../server/http/middleware/response/csv'

/** Reads RFC 4180 as a spreadsheet does: records end at a line break that is outside of quotes. */
function records(text: string): string[][] {
  const found: string[][] = []
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\r)/y
  let row: string[] = []
  while (field.lastIndex < text.length) {
    const match = field.exec(text)
    if (!match) throw new Error(`not CSV: ${JSON.stringify(text)}`)
    row.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '')
    if (match[3] === ',') continue
    found.push(row)
    row = []
  }
  return found
}

describe('a CSV line (RFC 4180)', () => {
  test.each<[string, string]>([
    ['a line feed', 'first\nsecond'],
    ['a carriage return', 'first\rsecond'],
    ['both', 'first\r\nsecond'],
    ['a comma', 'a,b'],
    ['quotes', 'say "hi"'],
  ])('keeps %s inside its cell', (_, cell) => {
    expect(records(csvLine([cell, 'next']))).toEqual([[cell, 'next']])
  })

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '＝1+1', '＋1', '－1', '＠SUM(A1)'])(
    'defuses the formula in %j',
    (cell) => {
      expect(records(csvLine([cell]))).toEqual([[`'${cell}`]])
    },
  )

  test.each([
    ['\t=1', "'\t'=1"],
    ['\n=1', "'\n'=1"],
    ['x;=1+1;', "x;'=1+1;"],
    ['first\n@SUM(A1);', "first\n'@SUM(A1);"],
    ['a;-b; -c', "a;'-b; -c"],
  ])(
    'defuses the formula in %j, also where semicolons divide cells and quotes do not hold lines together',
    (cell, safe) => {
      expect(records(csvLine([cell]))).toEqual([[safe]])
    },
  )

  test('is one record with the same cells, whatever they hold, and no cell begins a formula', () => {
    const cell = fc.string({
      unit: fc.constantFrom('a', '"', ',', '\n', '\r', '=', '+', '-', '@', '\t', ' ', ';', '\u00e9'),
    })
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 6 }), (cells) => {
        const [row, ...more] = records(csvLine(cells))
        expect(more).toEqual([])
        expect(row?.map((text) => text.replaceAll("'", ''))).toEqual(cells)
        for (const text of row ?? []) expect(text).not.toMatch(/^[\t\r\n]|(^|[;\t\r\n])[=+\-@]/)
      }),
    )
  })
})
