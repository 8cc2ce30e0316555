import { afterEach, expect, jest, test } from 'bun:test'
import { Backups } from '../../server/core/backup/backups'
import type { CopyManifest } from '../../server/core/backup/copy'
import type { BackupTarget } from '../../server/core/backup/target'
import { startBackups, startLocationCheck } from '../../server/jobs/backups'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

afterEach(() => {
  jest.useRealTimers()
})

test('a backup is made when the newest copy is old enough, again 15 minutes after a failure, and the surplus goes', async () => {
  jest.useFakeTimers()
  let now = Date.UTC(2026, 10, 23)
  let problem: string | null = null
  let stored: CopyManifest[] = []
  const target: BackupTarget = {
    location: '/copies',
    writeProblem: async () => null,
    copies: async () => [...stored],
    async draft() {
      return { folder: '', publish: async (copy) => void stored.push(copy), discard: async () => undefined }
    },
    fetch: async () => undefined,
    async remove({ name }) {
      stored = stored.filter((copy) => copy.name !== name)
    },
  }
  const snapshot = { version: '0.2.0', schema: 1, problems: 0, files: [], secrets: [], secretMark: 'mine' }
  stored.push({ ...snapshot, name: 'gateway-20261122T230000Z-aaaaaa', takenAt: now - HOUR_MS })
  const backups = new Backups({
    clock: { now: () => now },
    verify: async () => undefined,
    async snapshot() {
      if (problem !== null) throw new Error(problem)
      return snapshot
    },
  })
  const failures: string[] = []
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const log = { info: write, error: write, warn: write, debug: write }
  const onFailure = (reason: string) => void failures.push(reason)
  const parts = { backups, target, everyMs: 6 * HOUR_MS, keep: 2, clock: { now: () => now }, onFailure }
  const job = startBackups(parts, log)
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= MINUTE_MS) {
      now += MINUTE_MS
      jest.advanceTimersByTime(MINUTE_MS)
      for (let n = 0; n < 30; n++) await Promise.resolve()
    }
  }
  await pass(5 * HOUR_MS - MINUTE_MS)
  expect(stored).toHaveLength(1)
  expect(backups.reading()).toEqual({ newestAt: Date.UTC(2026, 10, 22, 23), isFailing: false })
  await pass(2 * MINUTE_MS)
  expect(stored).toHaveLength(2)
  problem = 'the bucket is gone'
  await pass(6 * HOUR_MS + MINUTE_MS)
  expect(failures).toEqual(['the bucket is gone'])
  expect(backups.reading().isFailing).toBe(true)
  expect(stored).toHaveLength(2)
  problem = null
  await pass(16 * MINUTE_MS)
  expect(backups.reading()).toEqual({ newestAt: stored.at(-1)?.takenAt ?? 0, isFailing: false })
  expect(stored).toHaveLength(2)
  expect(stored.every(({ name }) => name !== 'gateway-20261122T230000Z-aaaaaa')).toBe(true)
  void job.close()
  await pass(12 * HOUR_MS)
  expect(stored).toHaveLength(2)
  expect(failures).toHaveLength(1)
})

test('a place is looked at in the start and every ten minutes; a change is one line of the log', async () => {
  jest.useFakeTimers()
  let problem: string | null = '/copies cannot be written: EROFS'
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const target = { location: '/copies', writeProblem: async () => problem } as BackupTarget
  const check = startLocationCheck(target, { info: write, error: write, warn: write, debug: write })
  expect(await check.problem()).toBe('/copies cannot be written: EROFS')
  const pass = async () => {
    jest.advanceTimersByTime(10 * MINUTE_MS)
    for (let n = 0; n < 30; n++) await Promise.resolve()
  }
  await pass()
  expect(lines).toEqual(['no copy can be written to BACKUP_TO'])
  problem = null
  await pass()
  expect(await check.problem()).toBeNull()
  expect(lines.slice(1)).toEqual(['copies can be written to BACKUP_TO again'])
  void check.close()

  const hanging = { location: '/mnt/copies', writeProblem: () => Promise.withResolvers<null>().promise } as BackupTarget
  const asked = startLocationCheck(hanging, { info: write, error: write, warn: write, debug: write }).problem()
  jest.advanceTimersByTime(1_500)
  expect(await asked).toBe('/mnt/copies does not respond')
})
