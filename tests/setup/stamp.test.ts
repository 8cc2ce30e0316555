import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contentHash, filesBelow, Stamp } from '../../server/setup/stamp.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'stamp-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

describe('a stamp', () => {
  test('matches only the content that was last written', async () => {
    const stamp = new Stamp(join(root, 'made/on/the/way/stamp'))
    expect(await stamp.matches('one')).toBe(false)
    await stamp.write('one')
    expect(await stamp.matches('one')).toBe(true)
    await stamp.write('two')
    expect(await stamp.matches('one')).toBe(false)
  })

  test('matches nothing once cleared, so that interrupted work is done again', async () => {
    const stamp = new Stamp(join(root, 'stamp'))
    await stamp.write('one')
    await stamp.clear()
    expect(await stamp.matches('one')).toBe(false)
  })
})

describe('the content hash', () => {
  const hash = (also?: string) => contentHash(root, ['a.txt', 'b.txt'], also)

  beforeEach(async () => {
    await writeFile(join(root, 'a.txt'), 'one')
    await writeFile(join(root, 'b.txt'), 'two')
  })

  test('stays the same when only the modification time changes', async () => {
    const before = await hash()
    await utimes(join(root, 'a.txt'), 1, 1)
    expect(await hash()).toBe(before)
  })

  test('changes with a byte of a file, with the platform, and when a file is removed', async () => {
    const seen = [await hash(), await hash('linux arm64')]
    await writeFile(join(root, 'a.txt'), 'onE')
    seen.push(await hash())
    await rm(join(root, 'a.txt'))
    seen.push(await hash())
    await writeFile(join(root, 'a.txt'), '')
    seen.push(await hash())
    expect(new Set(seen).size).toBe(seen.length)
  })

  test('distinguishes text moved from one file to the next', async () => {
    const before = await hash()
    await writeFile(join(root, 'a.txt'), 'onet')
    await writeFile(join(root, 'b.txt'), 'wo')
    expect(await hash()).not.toBe(before)
  })
})

describe('the files below a folder', () => {
  test('are listed relative to the root, sorted, without the skipped folders', async () => {
    for (const path of ['web/src/z.ts', 'web/src/a/b.ts', 'web/dist/out.js', 'web/distant.ts']) {
      await mkdir(join(root, path, '..'), { recursive: true })
      await writeFile(join(root, path), '')
    }
    expect(await filesBelow(root, 'web', ['web/dist'])).toEqual(['web/distant.ts', 'web/src/a/b.ts', 'web/src/z.ts'])
  })
})
