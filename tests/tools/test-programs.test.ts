import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LITESTREAM, PROXIES, pathWith } from '../../tools/test-programs'

let root: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gateway-programs-'))
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

test.each([
  ['proxies', PROXIES, ['nginx', 'caddy', 'apt-get', 'dpkg']],
  ['Litestream', LITESTREAM, ['litestream', 'python3', 'unzip']],
])('%s on the path are used', async (_, set, installed) => {
  const path = await programs(...installed)
  expect(await pathWith(set, root, path)).toBe(path)
})

test.each([
  ['proxies', PROXIES, 'nginx'],
  ['Litestream', LITESTREAM, 'python3'],
  ['Litestream', LITESTREAM, 'unzip'],
])('without the tools that unpack them, %s stay missing', async (_, set, installed) => {
  const path = await programs(installed)
  expect(await pathWith(set, root, path)).toBe(path)
})

test.each([
  ['proxies', PROXIES, ['nginx', 'apt-get', 'dpkg'], 'gateway-proxies'],
  ['Litestream', LITESTREAM, ['python3', 'unzip'], 'gateway-litestream'],
])('%s that were unpacked before come first in the path', async (_, set, installed, folder) => {
  const path = await programs(...installed)
  const unpacked = join(root, 'node_modules/.cache', folder, 'bin')
  await mkdir(unpacked, { recursive: true })
  expect(await pathWith(set, root, path)).toBe(`${unpacked}:${path}`)
})
