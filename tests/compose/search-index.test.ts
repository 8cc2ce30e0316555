import { expect, test } from 'bun:test'
import { rm, writeFile } from 'node:fs/promises'
import { indexSources } from '../../server/compose/search/index-sources'
import { indexOfNode } from '../../server/compose/search/search-index'
import { readTestConfig } from '../support/harness'
import { dataFolder, removeFolder } from '../support/servers/server-process'
import { writeSmallIndex } from '../support/servers/small-index'

/** A node with several cells said that it is ready, and got a cell, while its first index was built for half a minute. */
test('a node can search once its index is built, or if it has an older one or another provider', async () => {
  const folder = await dataFolder({ migrated: false })
  const { indexPath, ...real } = indexSources(folder)
  const nodeIndex = (env: Record<string, string> = {}) => indexOfNode(readTestConfig({ DATA_DIR: folder, ...env }))
  const building = 'the search index is being built; the log shows how far it is'
  const before = nodeIndex()
  expect(await before.problem()).toBeNull()

  await rm(indexPath)
  // Before the build has begun, too.
  const first = nodeIndex()
  expect(await first.problem()).toBe(building)
  await writeFile(indexPath, 'no index')
  expect(await first.problem()).toBe(building)
  const build = Promise.withResolvers<null>()
  const built = first.prepare(
    () => {},
    () => build.promise,
  )
  expect(await first.problem()).toBe(building)
  // A gateway on this node that reaches another provider.
  expect(await first.problem(async () => true)).toBeNull()
  const searxng = { WEBSEARCH_PROVIDER: 'searxng,local', SEARXNG_URL: 'http://127.0.0.1:9' }
  expect(await nodeIndex(searxng).problem()).toBeNull()
  build.resolve(null)
  await built
  expect(await first.problem()).toBeNull()

  await rm(indexPath)
  const waiting = nodeIndex()
  expect(await waiting.problem()).toBe(building)
  await writeSmallIndex(indexPath, real)
  expect(await waiting.problem()).toBeNull()
  await removeFolder(folder)
})
