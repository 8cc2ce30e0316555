import { expect, test } from 'bun:test'
import type { SoldOperation } from '../../server/core/apis/api-routes'
import { searched } from '../../server/mcp/search-operations'
import { anApi, anOperation } from '../support/apis'

const WORDS = ['weather', 'tide', 'Zürich', 'c++', 'wind-speed', 'forecast_daily', 'tides', 'at', 'v2', '東京']

test('a search of a large catalog by its index finds what reading every text finds, in the same order', () => {
  const sold: SoldOperation[] = Array.from({ length: 1200 }, (_, i) => {
    const word = (n: number) => WORDS[(i * 7 + n * (i % 13)) % WORDS.length] ?? ''
    const operation = anOperation({ id: `op${i}`, title: `${word(1)} ${i}`, description: `${word(2)} of ${word(3)}` })
    return { api: anApi({ title: i % 5 === 0 ? 'Sea' : 'Land' }), operation }
  })
  const names = (found: readonly SoldOperation[]) => found.map(({ operation }) => operation.name)
  /** Without the index: in parts that are too small for one, and then all that was found. */
  const read = (query: string) => {
    const parts = [0, 400, 800].map((from) => sold.slice(from, from + 400))
    return searched(
      parts.flatMap((part) => searched(part, query, 400)).sort((a, b) => sold.indexOf(a) - sold.indexOf(b)),
      query,
      20,
    )
  }
  for (const query of ['tide', 'TIDE sea', 'zürich', 'c++', 'rich', 'speed wind', 'daily', '東京', 'nothing', 'v2 11'])
    expect([query, names(searched(sold, query, 20))]).toEqual([query, names(read(query))])
  expect(searched(sold, '', 20)).toHaveLength(20)
  expect(searched(sold, '東京', 20).every((one) => JSON.stringify(one.operation).includes('東京'))).toBe(true)
})
