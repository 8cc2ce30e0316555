import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { temporaryFolder } from '../../tools/temporary-folder'

let memory: string
beforeAll(async () => {
  memory = join(await mkdtemp(join(tmpdir(), 'memory-')), 'shm')
  await mkdir(memory)
})
afterAll(() => rm(dirname(memory), { recursive: true, force: true }))

describe('the folder for the files of tests', () => {
  test('is in memory where there is room, new and empty', async () => {
    const folders = await Promise.all([1, 2].map(() => temporaryFolder('verify-', { memory, minFreeBytes: 1 })))
    expect(folders.map(dirname)).toEqual([memory, memory])
    expect(new Set(folders).size).toBe(2)
    for (const folder of folders) expect(await readdir(folder)).toEqual([])
  })

  test('is in the temporary folder of the system where there is no memory for files, or too little', async () => {
    for (const options of [{ memory: join(memory, 'missing') }, { memory, minFreeBytes: Number.MAX_SAFE_INTEGER }]) {
      const folder = await temporaryFolder('verify-', options)
      expect(dirname(folder)).toBe(tmpdir())
      await rm(folder, { recursive: true })
    }
  })
})
