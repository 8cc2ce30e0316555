import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  decodeLog,
  encodeLine,
  LogDamaged,
  type LogLine,
} from '../../../server/adapters/stores/libsql/journal/log-format'

const linesOf = (payloads: readonly string[], first = 1): LogLine[] =>
  payloads.map((payload, i) => ({ number: first + i, payload }))
const bytesOf = (lines: readonly LogLine[]) => Buffer.concat(lines.map(encodeLine))
const payload = fc.json({ depthSize: 'small' })
const payloads = fc.array(payload, { minLength: 1, maxLength: 5 })

describe('a log', () => {
  test('reads back what was written', () => {
    fc.assert(
      fc.property(payloads, fc.integer({ min: 1, max: 1e12 }), (all, first) => {
        const lines = linesOf(all, first)
        const bytes = bytesOf(lines)
        expect(decodeLog(bytes)).toEqual({ lines, goodLength: bytes.length })
      }),
    )
  })

  test('that is empty has no groups', () => {
    expect(decodeLog(new Uint8Array())).toEqual({ lines: [], goodLength: 0 })
  })

  test('torn at any byte keeps every whole line and drops the rest', () => {
    fc.assert(
      fc.property(payloads, (all) => {
        const lines = linesOf(all)
        const bytes = bytesOf(lines)
        const ends = lines.map((_, i) => bytesOf(lines.slice(0, i + 1)).length)
        for (let cut = 0; cut <= bytes.length; cut++) {
          const whole = ends.filter((end) => end <= cut).length
          expect(decodeLog(bytes.subarray(0, cut))).toEqual({
            lines: lines.slice(0, whole),
            goodLength: ends[whole - 1] ?? 0,
          })
        }
      }),
      { numRuns: 30 },
    )
  })

  test('whose last line reached the disk only in length drops it', () => {
    const lines = linesOf(['[1]', '[2]'])
    const bytes = Buffer.concat([bytesOf(lines), Buffer.alloc(4096)])
    expect(decodeLog(bytes)).toEqual({ lines, goodLength: bytes.length - 4096 })
  })

  test('with any bit flipped is damaged, or loses its last line if that one is hit; it never reads as another log', () => {
    fc.assert(
      fc.property(payloads, fc.nat(), fc.nat(7), (all, place, bit) => {
        const lines = linesOf(all)
        const bytes = bytesOf(lines)
        const at = place % bytes.length
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
        const lastStart = bytesOf(lines.slice(0, -1)).length
        // The line feed before the last line glues two lines: then both are bad, and nothing good stands behind them.
        const hit = lines.findIndex((_, i) => bytesOf(lines.slice(0, i + 1)).length > at)
        const readable = () => decodeLog(bytes)
        if (at >= lastStart) expect(readable().lines).toEqual(lines.slice(0, -1))
        else if (at === lastStart - 1) expect(readable().lines).toEqual(lines.slice(0, hit))
        else expect(readable).toThrow(LogDamaged)
      }),
      { numRuns: 300 },
    )
  })

  test('with a line missing in its middle is damaged', () => {
    const [one, , three] = linesOf(['[1]', '[2]', '[3]'])
    expect(() => decodeLog(bytesOf([one as LogLine, three as LogLine]))).toThrow('group 3 follows group 1 at byte 17')
  })

  test('reports where it is damaged', () => {
    const lines = linesOf(['[1]', '[2]', '[3]'])
    const bytes = bytesOf(lines)
    bytes[22] = 0
    expect(() => decodeLog(bytes)).toThrow('the line at byte 17 is bad, and group 3 stands behind it')
  })
})
