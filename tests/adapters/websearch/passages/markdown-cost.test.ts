import { describe, expect, test } from 'bun:test'
import { markdownImages } from '../../../../server/adapters/websearch/local/own/read-own-file'
import { parseMarkdown } from '../../../../server/adapters/websearch/passages/markdown-sections'

/** Texts that open something that never closes, or repeat something that a pattern must look past. */
const UNITS = [
  '![',
  '[',
  '](',
  '[[a',
  '![a](',
  '<!--',
  '{/*',
  '<h1>',
  '<img ',
  '`',
  '``',
  '~~~~',
  '\n',
  ' ',
  '|\n',
  '# ',
  '[x]:',
  '[a]((',
  '---\n',
]
const CHARACTERS = 1_000_000

describe('the cost of converting to Markdown', () => {
  // No clock: the quadratic steps that stood here took 40 s and more at this length, which the time limit of a test forbids.
  test.each(UNITS)('grows only with the length, made only of %j', (unit) => {
    const text = unit.repeat(Math.ceil(CHARACTERS / unit.length))
    parseMarkdown(text)
    expect(markdownImages(text, 'https://x.example/').length).toBeLessThanOrEqual(1)
  })

  test('leaves out comments and code, and keeps what an unclosed one starts', () => {
    const { sections } = parseMarkdown('# A\n\none <!-- hidden --> two {/* hidden */} three\n\nfour <!-- five')
    expect(sections.flatMap(({ blocks }) => blocks.map(({ text }) => text.replaceAll(/\s+/g, ' ')))).toEqual([
      'one two three',
      'four <!-- five',
    ])
  })
})
