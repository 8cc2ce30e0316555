import { describe, expect, test } from 'bun:test'
import { parseMarkdown } from '../../../../server/adapters/websearch/passages/markdown-sections'
import { passagesOf, snippetOf } from '../../../../server/adapters/websearch/passages/passages'
import { countTokens, cutToTokens } from '../../../../server/adapters/websearch/passages/token-count'
import { cpuMs } from '../../../support/cpu-time'

const passages = (markdown: string) => passagesOf(parseMarkdown(markdown).sections)
const words = (count: number, word = 'word') => `${word} `.repeat(count).trim()

describe('passages', () => {
  test('carry the path of their headings', () => {
    const long = words(120)
    const found = passages(`# Guide\n\n${long}\n\n## Setup\n\n${long}\n\n### Linux\n\n${long}\n\n## Use\n\n${long}`)
    expect(found.map((passage) => passage.heading)).toEqual([
      'Guide',
      'Guide > Setup',
      'Guide > Setup > Linux',
      'Guide > Use',
    ])
  })

  test('join small neighbors under one parent and name them all', () => {
    expect(passages('# Guide\n\n## One\n\nfirst\n\n## Two\n\nsecond')).toMatchObject([
      { heading: 'Guide > One, Two', text: 'first\n\nTwo\n\nsecond' },
    ])
  })

  test('never cost more than the smallest budget of a page, whatever the text', () => {
    const texts = [words(5000), 'x'.repeat(20_000), '語'.repeat(5000), `# ${'h'.repeat(500)}\n\n${words(3000)}`]
    const code = ['```js', ...Array.from({ length: 400 }, (_, at) => `call(${at}) // ${words(6)}`), '```'].join('\n')
    for (const text of [...texts, code, `- ${words(900)}\n- ${words(900)}`]) {
      const found = passages(text)
      expect(found.length).toBeGreaterThan(3)
      for (const passage of found) {
        expect(countTokens(snippetOf(passage))).toBeLessThanOrEqual(passage.tokens)
        expect(passage.tokens).toBeLessThanOrEqual(470)
      }
    }
  })

  test('do not split a block of code, and fence each piece of one that is too long', () => {
    const short = `\`\`\`ts\n${'const a = 1\n'.repeat(60)}\`\`\``
    expect(passages(`# A\n\n${words(150)}\n\n${short}`).some((passage) => passage.text.includes(short))).toBe(true)
    const long = passages(`\`\`\`ts\n${'const a = 1\n'.repeat(400)}\`\`\``)
    expect(long.length).toBeGreaterThan(1)
    for (const { text } of long) expect(text).toMatch(/^```ts\n[\s\S]*\n```$/)
  })

  test('are not split by what looks like a heading inside code', () => {
    expect(passages('# A\n\n```sh\n# not a heading\nls\n```')).toMatchObject([
      { heading: 'A', text: '```sh\n# not a heading\nls\n```' },
    ])
  })

  test('leave out markup without content', () => {
    const source =
      '---\ntitle: T\n---\nimport X from "x"\n\n<Note a="b">See [the guide](https://a.example/x_(y)) **now**, `Array<string>`</Note>\n<!-- no -->{/* no */}'
    expect(passages(source)[0]!.text.trim()).toBe('See the guide now, `Array<string>`')
    expect(parseMarkdown(source).front.get('title')).toBe('T')
  })
})

describe('tables', () => {
  const table = (rows: number) =>
    [
      '| Name | Price |',
      '| --- | --- |',
      ...Array.from({ length: rows }, (_, at) => `| item ${at} | ${at} USD |`),
    ].join('\n')

  test('are not split, even between long paragraphs', () => {
    const source = `# A\n\n${words(150)}\n\n${table(20)}\n\n${words(150)}`
    expect(passages(source).some((passage) => passage.text.includes(table(20)))).toBe(true)
  })

  test('that are too long are split between rows, and every piece has the header', () => {
    const found = passages(`# A\n\n${table(200)}`)
    expect(found.length).toBeGreaterThan(2)
    for (const { text } of found) {
      expect(text).toStartWith('| Name | Price |\n| --- | --- |\n| item ')
      for (const line of text.split('\n')) expect(line).toMatch(/^\|.*\|$/)
    }
  })
})

describe('token count', () => {
  test('matches the current tokenizer', () => {
    expect(countTokens('The quick brown fox jumps over the lazy dog.')).toBe(10)
    expect(countTokens('')).toBe(0)
  })

  test('treats the special words of a tokenizer as text', () => {
    expect(countTokens('<|endoftext|>')).toBeGreaterThan(3)
  })

  test('of a run without spaces takes no longer than of prose', () => {
    const took = cpuMs(() => expect(countTokens('x'.repeat(100_000))).toBeGreaterThan(10_000))
    expect(took).toBeLessThan(2_000)
  })

  test('a cut stays within it and does not split characters', () => {
    for (const most of [1, 2, 5, 9]) {
      const cut = cutToTokens('語😀 word '.repeat(10), most)
      expect(countTokens(cut)).toBeLessThanOrEqual(most)
      expect(cut.isWellFormed()).toBe(true)
    }
    expect(cutToTokens('short', 2)).toBe('short')
  })
})
