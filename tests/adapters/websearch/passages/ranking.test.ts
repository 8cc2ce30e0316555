import { describe, expect, test } from 'bun:test'
import { type ContextBudget, withinBudget } from '../../../../server/adapters/websearch/passages/context-budget'
import { parseMarkdown } from '../../../../server/adapters/websearch/passages/markdown-sections'
import { passagesOf } from '../../../../server/adapters/websearch/passages/passages'
import { type CutPage, rankFetched } from '../../../../server/adapters/websearch/passages/rank-pages'
import { aboveThreshold } from '../../../../server/adapters/websearch/passages/relevance-floor'
import { countTokens } from '../../../../server/adapters/websearch/passages/token-count'

const filler = 'Something else entirely stands here and says nothing of interest to anybody who asks. '

function page(name: string, markdown: string, more: Partial<CutPage> = {}): CutPage {
  const title = more.title ?? `Page ${name}`
  return {
    url: `https://pages.example/${name}`,
    title,
    titleTokens: countTokens(title),
    hostname: 'pages.example',
    siteName: 'Pages',
    description: '',
    published: null,
    fetchedAt: 0,
    favicon: null,
    thumbnail: null,
    prior: 1,
    passages: passagesOf(parseMarkdown(markdown).sections),
    ...more,
  }
}
const names = (pages: readonly { readonly url: string }[]) =>
  pages.map(({ url }) => url.slice('https://pages.example/'.length))

describe('ranking pages', () => {
  test('a page without a word of the query is left out; words match by stem and without accents', () => {
    const ranked = rankFetched('résumé writing', [page('a', 'He writes resumes.'), page('b', filler)])
    expect(names(ranked)).toEqual(['a'])
  })

  test('a page with every word ranks above one that has one word often', () => {
    const often = `Lathe lathe lathe. ${'The lathe. '.repeat(20)}`
    expect(
      names(rankFetched('lathe chuck', [page('often', often), page('both', `The lathe has a chuck. ${filler}`)])),
    ).toEqual(['both', 'often'])
  })

  test('a word in the title or a heading counts for more than in the text', () => {
    const text = `A spindle is turned. ${filler.repeat(3)}`
    const ranked = rankFetched('spindle', [
      page('text', text),
      page('title', text, { title: 'The spindle' }),
      page('heading', `# Spindle\n\n${text}`),
    ])
    expect(names(ranked).at(-1)).toBe('text')
  })

  test('adjacent words count for more than separate words', () => {
    const apart = `A relay stands first. ${filler.repeat(3)} At the end comes a mirror.`
    const together = `Before it, ${filler.repeat(3)} a relay mirror.`
    expect(names(rankFetched('relay mirror', [page('apart', apart), page('together', together)]))).toEqual([
      'together',
      'apart',
    ])
  })

  test("the search engine's rank decides between equal texts", () => {
    const same = 'The relay mirror is here.'
    expect(names(rankFetched('relay mirror', [page('last', same, { prior: 0 }), page('first', same)]))).toEqual([
      'first',
      'last',
    ])
  })

  test('no words, no pages', () => {
    expect(rankFetched('???', [page('a', 'words')])).toEqual([])
    expect(rankFetched('words', [])).toEqual([])
  })
})

describe('the relevance floor', () => {
  const ranked = rankFetched('lathe chuck jaws', [
    page('all', '# Lathe chuck jaws\n\nThe lathe chuck jaws close.'),
    page('two', `A lathe with a chuck. ${filler.repeat(2)}`),
    page('one', `A lathe. ${filler.repeat(3)}`),
    page('other', filler),
  ])

  test('each mode keeps less than the one before, and `disabled` keeps everything', () => {
    const kept = (['disabled', 'lenient', 'balanced', 'strict'] as const).map((mode) =>
      names(aboveThreshold(ranked, mode)),
    )
    expect(kept[0]).toEqual(['all', 'two', 'one'])
    expect(kept[3]).toEqual(['all'])
    for (let at = 1; at < kept.length; at++) {
      expect(kept[at]!.length).toBeLessThanOrEqual(kept[at - 1]!.length)
      expect(kept[at - 1]).toEqual(expect.arrayContaining(kept[at]!))
    }
    expect(new Set(kept.map((list) => list.length)).size).toBeGreaterThanOrEqual(3)
  })
})

describe('the budget', () => {
  const long = Array.from({ length: 12 }, (_, at) => `## Lathe ${at}\n\nThe lathe turns. ${filler.repeat(8)}`).join(
    '\n\n',
  )
  const ranked = rankFetched('lathe', [page('a', long), page('b', long), page('c', long)])
  const wide: ContextBudget = { urls: 50, snippets: 256, snippetsPerUrl: 100, tokens: 32768, tokensPerUrl: 8192 }
  const spent = (budget: ContextBudget) =>
    withinBudget(ranked, budget).map((from) => countTokens([from.page.title, ...from.snippets].join('\n')))

  test('limits pages, snippets, and snippets of a page', () => {
    expect(withinBudget(ranked, { ...wide, urls: 2 })).toHaveLength(2)
    expect(withinBudget(ranked, { ...wide, snippets: 4 }).flatMap(({ snippets }) => snippets)).toHaveLength(4)
    expect(withinBudget(ranked, { ...wide, snippetsPerUrl: 3 }).map(({ snippets }) => snippets.length)).toEqual([
      3, 3, 3,
    ])
  })

  test('limits tokens in total and per page, by the tokenizer', () => {
    for (const tokens of [1024, 3000]) {
      const sum = spent({ ...wide, tokens }).reduce((all, one) => all + one, 0)
      expect(sum).toBeLessThanOrEqual(tokens)
      expect(sum).toBeGreaterThan(tokens * 0.6)
    }
    for (const one of spent({ ...wide, tokensPerUrl: 600 })) expect(one).toBeLessThanOrEqual(600)
  })

  test('every page gives its best snippet before any gives its second', () => {
    const [a, b, c] = withinBudget(ranked, { ...wide, snippets: 3 })
    expect([a, b, c].map((from) => from?.snippets.length)).toEqual([1, 1, 1])
  })
})
