import { describe, expect, test } from 'bun:test'
import { isPlainLine, printable, printableJson } from '../../server/core/plain-text'

describe('text shown to people', () => {
  // A joiner, a filler, Mongolian and Khmer signs, selectors of variants: each draws nothing, and forges another name.
  test.each(['\u034f', '\u115f', '\u17b4', '\u180b', '\u200b', '\ufe00', '\ufe0f', '\u{e0041}', '\u{e0100}'])(
    'has no hidden characters: %j',
    (hidden) => {
      const forged = `Ad${hidden}min`
      expect([isPlainLine(forged), printable(forged)]).toEqual([false, 'Admin'])
      expect(JSON.parse(printableJson({ forged }))).toEqual({ forged })
      expect(printableJson(forged)).toMatch(/^"Ad(\\u[0-9a-f]{4})+min"$/)
    },
  )

  test.each(['Zoë Müller', '山田 太郎', 'नमस्ते', 'ทดสอบ', 'Honey ❤️', '☕️ & co', '🐝'])('is unchanged: %s', (name) => {
    expect([isPlainLine(name), printable(name)]).toEqual([true, name])
  })
})
