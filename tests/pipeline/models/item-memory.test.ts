import { describe, expect, test } from 'bun:test'
import type { AccountId } from '../../../server/core/ids'
import { ITEM_LIFETIME_MS, ItemMemory } from '../../../server/pipeline/models/item-memory'

const ADA = 'acc_ada' as AccountId
const MEBIBYTE = 1024 * 1024
let now = 0
const memory = () => new ItemMemory({ now: () => now })

describe('the memory of answered items', () => {
  test('has at most 2 MiB of an account, and drops its oldest first', () => {
    const items = memory()
    for (let i = 0; i < 3_000; i++) items.remember(ADA, `msg_${i}`, `"${'x'.repeat(1000)}"`)
    expect(items.size).toBeLessThanOrEqual(2 * MEBIBYTE)
    expect([items.recall(ADA, 'msg_0'), items.recall(ADA, 'msg_2999')]).toEqual([null, `"${'x'.repeat(1000)}"`])
    for (let i = 0; i < 6_000; i++) items.remember(ADA, `tiny_${i}`, '{}')
    expect(items.size).toBeLessThanOrEqual(2 * MEBIBYTE)
    items.remember(ADA, 'huge', 'x'.repeat(3 * MEBIBYTE))
    expect([items.recall(ADA, 'huge'), items.recall(ADA, 'tiny_5999')]).toEqual([null, '{}'])
  })

  test('has at most 64 MiB of all accounts, and drops the oldest of all first', () => {
    const items = memory()
    const large = 'x'.repeat(MEBIBYTE)
    for (let i = 0; i < 100; i++) items.remember(`acc_${i}` as AccountId, 'one', large)
    expect(items.size).toBeLessThanOrEqual(64 * MEBIBYTE)
    expect(items.recall('acc_0' as AccountId, 'one')).toBeNull()
    expect(items.recall('acc_99' as AccountId, 'one')).toBe(large)
  })

  test('forgets after half an hour, and frees what it held with the next item', () => {
    const items = memory()
    for (let i = 0; i < 100; i++) items.remember(ADA, `msg_${i}`, '{}')
    const before = items.size
    now += ITEM_LIFETIME_MS
    expect(items.recall(ADA, 'msg_1')).toBeNull()
    items.remember(ADA, 'new', '{}')
    expect(items.size).toBeLessThan(before / 50)
  })

  test('answers nothing for an id that came with two contents, and the same for one that came twice alike', () => {
    const items = memory()
    for (const json of ['1', '1']) items.remember(ADA, 'same', json)
    for (const json of ['1', '2']) items.remember(ADA, 'other', json)
    expect([items.recall(ADA, 'same'), items.recall(ADA, 'other')]).toEqual(['1', null])
    items.remember(ADA, 'other', '2')
    expect(items.recall(ADA, 'other')).toBeNull()
  })
})
