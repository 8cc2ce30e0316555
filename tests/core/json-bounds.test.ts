import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { BODY_BOUNDS, isValueWithin, isWithin, type JsonBounds, JsonScan } from '../../server/core/json-bounds'

const bytes = (text: string) => new TextEncoder().encode(text)

/** Depth and parts, by walking what a parser made. */
function measured(value: unknown): JsonBounds {
  if (typeof value !== 'object' || value === null) return { depth: 0, parts: 0 }
  const inner = Object.values(value).map(measured)
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    parts: 1 + (Array.isArray(value) ? 0 : inner.length) + inner.reduce((sum, { parts }) => sum + parts, 0),
  }
}

function scanned(text: Uint8Array, bounds: JsonBounds, step: number): boolean {
  const scan = new JsonScan(bounds)
  for (let at = 0; at < text.length; at += step) if (!scan.push(text.subarray(at, at + step))) return false
  return true
}

describe('JSON limits, checked before parsing', () => {
  test('count the depth and the parts that a parser would create, whatever is in the strings and wherever the text is cut', () => {
    const mark = fc.constantFrom('\\', '"', '{', '}', '[', ']', ':', ',', 'é', '\n', 'a'.repeat(30), '\\'.repeat(30))
    const text = fc.array(mark, { maxLength: 12 }).map((marks) => marks.join(''))
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ maxDepth: 6 }, text, fc.integer(), tie('list'), tie('object')),
      list: fc.array(tie('tree'), { maxLength: 5 }),
      object: fc.dictionary(text, tie('tree'), { maxKeys: 5 }),
    }))
    fc.assert(
      fc.property(tree, fc.constantFrom(1, 2, 3, 7, 64, 10_000), (value, step) => {
        const json = bytes(JSON.stringify(value))
        const { depth, parts } = measured(value)
        expect(scanned(json, { depth, parts }, step)).toBe(true)
        expect(isValueWithin(value, { depth, parts })).toBe(true)
        const scan = new JsonScan({ depth, parts })
        scan.push(json)
        const commas =
          JSON.stringify(value)
            .replace(/"(?:[^"\\]|\\.)*"/gs, '')
            .split(',').length - 1
        expect(scan.partsSoFar).toBe(Math.max(parts, Math.floor(commas / 10)))
        for (const less of [
          ...(depth > 0 ? [{ depth: depth - 1, parts }] : []),
          ...(parts > 0 ? [{ depth, parts: parts - 1 }] : []),
        ]) {
          expect(scanned(json, less, step)).toBe(false)
          expect(isValueWithin(value, less)).toBe(false)
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('accept 100 levels and 100,000 parts, and not one more of either', () => {
    const nested = (depth: number) => bytes('['.repeat(depth) + ']'.repeat(depth))
    expect([isWithin(nested(100), BODY_BOUNDS), isWithin(nested(101), BODY_BOUNDS)]).toEqual([true, false])
    const members = (count: number) => bytes(`{${Array.from({ length: count }, (_, i) => `"m${i}":1`).join(',')}}`)
    expect([isWithin(members(99_999), BODY_BOUNDS), isWithin(members(100_000), BODY_BOUNDS)]).toEqual([true, false])
  })

  test('do not count numbers and texts in a list: embeddings send many', () => {
    expect(isWithin(bytes(`{"input":[${'1,'.repeat(300_000)}1]}`), BODY_BOUNDS)).toBe(true)
    expect(isWithin(bytes(`{"input":[${'"a{",'.repeat(300_000)}""]}`), BODY_BOUNDS)).toBe(true)
  })

  test('apply to invalid JSON as well', () => {
    expect(isWithin(bytes('['.repeat(100_000)), BODY_BOUNDS)).toBe(false)
    expect(isWithin(bytes(`"${'['.repeat(100_000)}`), BODY_BOUNDS)).toBe(true)
    expect(isWithin(bytes(`]${'}['.repeat(100_001)}`), BODY_BOUNDS)).toBe(false)
  })
})
