import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathWithProxies } from '../../server/setup/proxies'

let root: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gateway-proxies-'))
})
afterAll(() => rm(root, { recursive: true, force: true }))

/** A folder with these programs, which do nothing. */
async function programs(...names: string[]): Promise<string> {
  const folder = await mkdtemp(join(root, 'bin-'))
  for (const name of names) {
    await writeFile(join(folder, name), '#!/bin/sh\n')
    await chmod(join(folder, name), 0o755)
  }
  return folder
}

test('proxies that are installed are used', async () => {
  const path = await programs('nginx', 'caddy', 'haproxy', 'apt-get', 'dpkg')
  expect(await pathWithProxies(root, path)).toBe(path)
})

test('without apt the proxies stay missing', async () => {
  const path = await programs('nginx')
  expect(await pathWithProxies(root, path)).toBe(path)
})

test('proxies that were unpacked before come first in the path', async () => {
  const path = await programs('nginx', 'apt-get', 'dpkg')
  const unpacked = join(root, 'node_modules/.cache/gateway-proxies/bin')
  await mkdir(unpacked, { recursive: true })
  expect(await pathWithProxies(root, path)).toBe(`${unpacked}:${path}`)
})
