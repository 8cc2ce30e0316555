import { describe, expect, test } from 'bun:test'
import {
  packedReply,
  packedRequest,
  unpacked,
} from '../../../server/adapters/stores/libsql/driver/worker/worker-message'
import type { WorkerReply, WorkerRequest } from '../../../server/adapters/stores/libsql/driver/worker-wire'

const request = (...args: unknown[]) =>
  ({ id: 7, op: 'batch', mode: 'write', statements: ['SELECT 1', { sql: 'SELECT ?', args }] }) as WorkerRequest
const reply = (...row: unknown[]) =>
  ({
    id: 7,
    ok: true,
    results: [
      {
        columns: ['a'],
        columnTypes: ['TEXT'],
        rows: [row, ['x']],
        rowsAffected: 1,
        lastInsertRowid: '9223372036854775807',
      },
    ],
  }) as WorkerReply

/** Text that must be kept exactly, with parts that are easily lost. */
const EXACT = ['', 'é\0"\\\u2028', '\ud800', 0, -1, 0.1, 1e-320, 2 ** 53 - 1, -(2 ** 53), true, null]
/** Bytes that a conversion to text would change. */
const OTHERS = [
  -0,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2n ** 60n,
  new Uint8Array([1, 2]),
  new ArrayBuffer(2),
  new Date(5),
]

describe('a message to a database thread, and its answer', () => {
  test('passes as text, with every value as it was', () => {
    for (const message of [request(...EXACT), reply(...EXACT)]) {
      const packed = 'op' in message ? packedRequest(message) : packedReply(message)
      expect(packed).toBeString()
      expect(unpacked(packed as never)).toEqual(message as never)
    }
  })

  test('passes as it is if text would change a value', () => {
    for (const value of OTHERS) {
      const [asked, answered] = [request('a', value), reply('a', value)]
      expect(packedRequest(asked)).toBe(asked)
      expect(packedReply(answered)).toBe(answered)
      expect(unpacked(packedReply(answered))).toBe(answered)
    }
  })

  test('passes as it is if it is no batch', () => {
    const open = { id: 1, op: 'open', role: 'reader', url: 'file:x', authToken: null } as const
    expect(packedRequest(open)).toBe(open)
    const named = { id: 1, op: 'batch', mode: 'read', statements: [{ sql: 'SELECT :a', args: { a: 1 } }] } as const
    expect(packedRequest(named)).toBe(named)
    const failed = { id: 1, ok: false, error: { message: 'no', code: 'SQLITE_BUSY' } } as const
    expect(packedReply(failed)).toBe(failed)
  })
})
