import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathWithLitestream } from '../../server/setup/litestream'

let root: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gateway-litestream-'))
})
afterAll(() => rm(root, { recursive: true, force: true }))

/** A folder with these programs, which fail. */
async function programs(...names: string[]): Promise<string> {
  const folder = await mkdtemp(join(root, 'bin-'))
  for (const name of names) {
    await writeFile(join(folder, name), '#!/bin/sh\nexit 1\n')
    await chmod(join(folder, name), 0o755)
  }
  return folder
}

test('an installed Litestream is used, and without Python or unzip it stays missing', async () => {
  for (const path of [await programs('litestream'), await programs('python3'), await programs('unzip')])
    expect(await pathWithLitestream(root, path)).toBe(path)
})

test('a Litestream that was unpacked before comes first in the path', async () => {
  const path = await programs('python3', 'unzip')
  const unpacked = join(root, 'node_modules/.cache/gateway-litestream/bin')
  await mkdir(unpacked, { recursive: true })
  expect(await pathWithLitestream(root, path)).toBe(`${unpacked}:${path}`)
})
