import { describe, expect, test } from 'bun:test'
import { parseMarkdown } from '../../../server/adapters/websearch/local/markdown-sections'
import { passagesOf, snippetOf } from '../../../server/adapters/websearch/local/passages'
import { cutToTokens, estimateTokens } from '../../../server/adapters/websearch/local/token-estimate'
import { typeEntries } from '../../../server/adapters/websearch/local/type-comments'

const passages = (markdown: string) => passagesOf(parseMarkdown(markdown).sections)
const words = (count: number, word = 'word') => `${word} `.repeat(count).trim()

describe('passages', () => {
  test('carry the path of headings they stand under', () => {
    const long = words(120)
    const found = passages(`# Guide\n\n${long}\n\n## Setup\n\n${long}\n\n### Linux\n\n${long}\n\n## Use\n\n${long}`)
    expect(found.map((passage) => passage.heading)).toEqual([
      'Guide',
      'Guide > Setup',
      'Guide > Setup > Linux',
      'Guide > Use',
    ])
  })

  test('join small neighbours under one parent and name them all', () => {
    expect(passages('# Guide\n\n## One\n\nfirst\n\n## Two\n\nsecond')).toEqual([
      { heading: 'Guide > One, Two', text: 'first\n\nTwo\n\nsecond' },
    ])
  })

  test('never cost more than the least budget of a page, whatever the text', () => {
    const texts = [words(5000), 'x'.repeat(20_000), '語'.repeat(5000), `# ${'h'.repeat(500)}\n\n${words(3000)}`]
    const code = ['```js', ...Array.from({ length: 400 }, (_, at) => `call(${at}) // ${words(6)}`), '```'].join('\n')
    for (const text of [...texts, code, `- ${words(900)}\n- ${words(900)}`]) {
      const found = passages(text)
      expect(found.length).toBeGreaterThan(3)
      for (const passage of found) expect(estimateTokens(snippetOf(passage))).toBeLessThanOrEqual(470)
    }
  })

  test('keep a block of code whole, and fence each piece of one that is too long', () => {
    const short = `\`\`\`ts\n${'const a = 1\n'.repeat(80)}\`\`\``
    expect(passages(`# A\n\n${words(150)}\n\n${short}`).some((passage) => passage.text.includes(short))).toBe(true)
    const long = passages(`\`\`\`ts\n${'const a = 1\n'.repeat(400)}\`\`\``)
    expect(long.length).toBeGreaterThan(1)
    for (const { text } of long) expect(text).toMatch(/^```ts\n[\s\S]*\n```$/)
  })

  test('are not split by what looks like a heading inside code', () => {
    expect(passages('# A\n\n```sh\n# not a heading\nls\n```')).toEqual([
      { heading: 'A', text: '```sh\n# not a heading\nls\n```' },
    ])
  })

  test('leave out markup that says nothing', () => {
    const source =
      '---\ntitle: T\n---\nimport X from "x"\n\n<Note a="b">See [the guide](https://a.example/x_(y)) **now**, `Array<string>`</Note>\n<!-- no -->{/* no */}'
    expect(passages(source)[0]!.text.trim()).toBe('See the guide now, `Array<string>`')
    expect(parseMarkdown(source).front.get('title')).toBe('T')
  })
})

describe('token estimate', () => {
  test('is a quarter of the bytes, rounded up', () => {
    expect(['', 'a', 'abcd', 'abcde', 'é', '語語'].map(estimateTokens)).toEqual([0, 1, 1, 2, 1, 2])
  })

  test('a cut keeps to it and to whole characters', () => {
    expect(cutToTokens('語'.repeat(10), 2)).toBe('語語')
    expect(cutToTokens('short', 2)).toBe('short')
  })
})

describe('doc comments', () => {
  test('stand with the declaration they describe, under its owner', () => {
    const source = 'export interface Tool {\n  /** Sharpens it. {@link Stone} */\n  sharpen(times: number): void;\n}\n'
    const [entry] = typeEntries(source)
    expect(entry).toEqual({
      documented: true,
      section: {
        path: ['Tool', 'sharpen'],
        blocks: [
          { text: 'Sharpens it. Stone', code: false },
          { text: '```ts\nsharpen(times: number): void;\n```', code: true },
        ],
      },
    })
  })

  test('that are internal or licences are left out', () => {
    expect(typeEntries('/** @internal */\ndeclare const a: 1;\n/** @license MIT */\n')).toEqual([])
  })

  test('exports without one are kept by their declaration', () => {
    const [entry] = typeEntries('export declare class Relation<T> {\n  readonly one: T;\n}\n')
    expect(entry).toMatchObject({ documented: false, section: { path: ['Relation'] } })
  })
})
