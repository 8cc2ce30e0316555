import { beforeEach, describe, expect, test } from 'bun:test'
import { BuildAllowance, RULES_NOT_BUILT } from '../../../../server/adapters/websearch/goggles/build-allowance'
import { type GoggleText, RuleBooks } from '../../../../server/adapters/websearch/goggles/rule-books'
import { ok } from '../../../../server/core/result'

const lines = (count: number, line: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n')
const hosted = (text: string): GoggleText => ({ text, isHosted: true })
const inline = (text: string): GoggleText => ({ text, isHosted: false })
const large = (name: string) => hosted(`! name: ${name}\n${lines(90_000, (i) => `/p${i}/$boost=${i % 10 || 1}`)}`)
/** About as many characters as a goggle may have, and two slices of rules. */
const long = (name: string) =>
  hosted(`${lines(20_000, (i) => `/${name}${i}/`)}\n!${'x'.repeat(1_999_999 - 20_000 * 9)}`)
const subject = (url: string) => ({ url, title: '', description: '', content: 'some words of a page '.repeat(40) })

let books: RuleBooks
beforeEach(() => {
  books = new RuleBooks()
})

/** How many slices it takes to build all, and what the rules say of a page. */
function built(goggles: readonly GoggleText[], url = 'https://x.org/p7/') {
  for (let slices = 1; ; slices++) {
    const rules = books.of(goggles)
    if (!rules.ok) return { slices, fate: rules.error }
    if (rules.value) return { slices, fate: rules.value.fateOf(subject(url)) }
  }
}

describe('rule books of hosted goggles', () => {
  test('a large one is built in slices, and works', () => {
    const { slices, fate } = built([large('a')])
    expect(slices).toBeGreaterThanOrEqual(5)
    expect(slices).toBeLessThan(10)
    expect(fate).toEqual({ kind: 'boosted', strength: 7 })
  })

  test('together with an inline rule that changes with each call, it is built once', () => {
    const big = long('a')
    built([big])
    for (let call = 0; call < 50; call++) {
      expect(built([big, inline(`/p7/$boost=${1 + (call % 10)}\n/call${call}/`)]).slices).toBe(1)
      expect(built([inline(`/p7/c${call}`), big]).slices).toBe(1)
    }
    expect(built([big, inline('/p7/$discard')]).fate).toEqual({ kind: 'discarded' })
  })

  test('are shared by every set', () => {
    const [a, b] = [long('a'), long('b')]
    const one = built([a]).slices
    built([b])
    expect(one).toBeGreaterThan(1)
    expect(built([b, a]).slices).toBe(1)
  })

  test('those of one call are built however large, and the least recently used is evicted', () => {
    const set = ['a', 'b', 'c'].map(long)
    expect(built(set).slices).toBeGreaterThan(2)
    expect(built(set).slices).toBe(1)
    for (const name of ['d', 'e', 'f']) built([long(name)])
    expect(built(set).slices).toBeGreaterThan(2)
  })

  test('a set is built while another is being built', () => {
    const [mine, theirs] = [[long('a')], [long('b'), long('c')]]
    let slices = 0
    for (let isBuilt = false; !isBuilt; slices++) {
      const [rules] = [books.of(mine), books.of(theirs)]
      isBuilt = rules.ok && rules.value !== null
    }
    expect(slices).toBeLessThan(10)
  })
})

describe('inline goggles of a request', () => {
  const short = (name: string) => inline(`! ${name}\n${lines(24_000, () => 'abc')}`)

  test('are refused every time if they take more than 200 ms to parse', () => {
    for (let call = 0; call < 3; call++) {
      expect(books.of([short('a'), short('b')])).toMatchObject({ ok: false, error: expect.stringContaining('200 ms') })
    }
  })

  test('count their parsing time as matching time', () => {
    const pages = Array.from({ length: 200 }, (_, i) => subject(`https://x.org/${i}`))
    const isFine = (goggles: readonly GoggleText[]) => {
      built(goggles)
      const rules = books.of(goggles)
      if (!rules.ok || !rules.value) throw new Error('it was not built')
      return rules.value.rerank(pages, (page) => page).ok
    }
    const slow = lines(240, () => 'some^words^$incontent')
    expect(isFine([short('a')])).toBe(true)
    expect(isFine([inline(slow)])).toBe(true)
    expect(isFine([short('a'), inline(slow)])).toBe(false)
    expect(isFine([hosted(short('a').text), inline(slow)])).toBe(true)
  })

  test('do not evict what is stored for others', () => {
    const big = long('a')
    built([big])
    for (let call = 0; call < 100; call++) built([inline(`/c${call}/\n!${'x'.repeat(99_000)}`)])
    expect(built([big]).slices).toBe(1)
  })
})

describe('slices of building', () => {
  let nowMs = 0
  const clock = { now: () => nowMs }
  const callOf = (slices: number) => {
    let left = slices
    return async () => (left-- > 0 ? RULES_NOT_BUILT : ok('answer'))
  }
  beforeEach(() => {
    nowMs = 0
  })

  test('are requested until all is built', async () => {
    expect(await new BuildAllowance(clock).untilBuilt('a', callOf(42))).toEqual(ok('answer'))
  })

  test('are limited to sixty a minute per caller; other callers have their own, and more the next minute', async () => {
    const allowance = new BuildAllowance(clock)
    const kinds = async (caller: string, calls: number) => {
      const told: string[] = []
      for (let call = 0; call < calls; call++) {
        const answer = await allowance.untilBuilt(caller, callOf(7))
        told.push(answer.ok ? 'ok' : answer.error.kind)
      }
      return told
    }
    expect(await kinds('a', 10)).toEqual([...Array(8).fill('ok'), 'refused', 'refused'])
    expect(await kinds('b', 1)).toEqual(['ok'])
    expect(await allowance.untilBuilt('a', callOf(0))).toEqual(ok('answer'))
    nowMs += 60_000
    expect(await kinds('a', 1)).toEqual(['ok'])
  })
})
