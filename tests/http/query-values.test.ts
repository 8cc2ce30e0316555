import { expect, test } from 'bun:test'
import { queryValues } from '../../server/http/middleware/input/query-values'

/** What `URLSearchParams` reads. */
function standard(search: string): Map<string, string[]> {
  const query = new URLSearchParams(search)
  return new Map([...query.keys()].map((name) => [name, query.getAll(name)]))
}

const PIECES = [
  'a',
  'q',
  '=',
  '&',
  '+',
  '%20',
  '%',
  '%C3%A9',
  '%c3',
  '%EF%BB%BF',
  '%00',
  '%2B',
  '%26',
  '%3D',
  '?',
  'é',
  '%ED%A0%80',
  '%zz',
  '__proto__',
]

test('any query is parsed as URLSearchParams parses it', () => {
  for (const search of [
    '',
    '?',
    '?q',
    '?q=',
    '?=x',
    '?&&',
    '?q=1&q=2&Q=3',
    '?a=%',
    '?a=b=c',
    '?a=%EF%BB%BFx',
    '?%EF%BB%BFa=1',
  ])
    expect(queryValues(new URL(`http://h/${search}`).search)).toEqual(standard(new URL(`http://h/${search}`).search))
  let seed = 7
  const next = (below: number) => {
    seed = (seed * 48271) % 2147483647
    return seed % below
  }
  for (let i = 0; i < 5000; i++) {
    const text = Array.from({ length: next(12) }, () => PIECES[next(PIECES.length)]).join('')
    const { search } = new URL(`http://h/?${text}`)
    expect([search, queryValues(search)]).toEqual([search, standard(search)])
  }
})
