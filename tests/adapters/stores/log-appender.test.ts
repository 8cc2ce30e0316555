import { describe, expect, test } from 'bun:test'
import { LogAppender } from '../../../server/adapters/stores/libsql/journal/log-appender'

/** A disk in memory that takes at most `room` bytes, and whose calls fail when the test says. */
function openDisk() {
  const disk = {
    bytes: Buffer.alloc(0),
    room: 1000,
    atOnce: 1000,
    syncs: 0,
    damage: null as string | null,
    fail: new Set<string>(),
  }
  const check = (what: string) => {
    if (disk.fail.has(what)) throw new Error(`${what} failed`)
  }
  const log = new LogAppender({
    write(bytes, position) {
      check('write')
      const taken = Math.min(bytes.length, disk.atOnce, disk.room - position)
      if (taken <= 0) throw new Error('ENOSPC')
      const next = Buffer.alloc(Math.max(disk.bytes.length, position + taken))
      disk.bytes.copy(next)
      next.set(bytes.subarray(0, taken), position)
      disk.bytes = next
      return taken
    },
    sync() {
      check('sync')
      disk.syncs++
    },
    truncate(length) {
      check('truncate')
      disk.bytes = disk.bytes.subarray(0, length)
    },
    damage: (length) => disk.damage ?? (disk.bytes.length < length ? 'it was cut' : null),
  })
  return { disk, log, text: () => disk.bytes.toString(), append: (text: string) => log.append(Buffer.from(text)) }
}

describe('the log appender', () => {
  test('syncs each line before it reports it written, even when the disk takes it in pieces', () => {
    const { disk, append, text } = openDisk()
    disk.atOnce = 2
    expect(append('first')).toEqual({ kind: 'written' })
    expect(append('second')).toEqual({ kind: 'written' })
    expect([text(), disk.syncs]).toEqual(['firstsecond', 2])
  })

  test('removes a partial write, refuses it, and continues when there is room', () => {
    const { disk, append, text } = openDisk()
    append('first')
    disk.room = 8
    expect(append('second')).toEqual({ kind: 'refused', reason: 'ENOSPC' })
    expect(text()).toBe('first')
    disk.room = 1000
    expect(append('third')).toEqual({ kind: 'written' })
    expect(text()).toBe('firstthird')
  })

  test('writes nothing to a file that something else changed', () => {
    const { disk, append, text } = openDisk()
    append('first')
    disk.damage = 'it was deleted'
    expect(append('second')).toEqual({ kind: 'refused', reason: 'it was deleted', isDamage: true })
    expect(text()).toBe('first')
  })

  test('overwrites what it could not remove', () => {
    const { disk, append, text } = openDisk()
    append('first')
    disk.room = 8
    disk.fail.add('truncate')
    expect(append('second').kind).toBe('refused')
    expect(text()).toBe('firstsec')
    disk.room = 1000
    append('THIRD')
    expect(text()).toBe('firstTHIRD')
  })

  test('reports a line whose sync failed as unknown, and takes no more', () => {
    const { disk, append } = openDisk()
    disk.fail.add('sync')
    expect(append('first')).toMatchObject({ kind: 'lost' })
    disk.fail.clear()
    expect(append('second')).toMatchObject({ kind: 'refused' })
    expect(disk.syncs).toBe(0)
  })

  test('starts at the beginning again after it was emptied', () => {
    const { disk, append, log, text } = openDisk()
    append('first')
    log.empty()
    append('second')
    expect([text(), disk.syncs]).toEqual(['second', 3])
  })
})
