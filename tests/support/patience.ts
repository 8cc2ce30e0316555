import { afterAll } from 'bun:test'
import { plugin } from 'bun'
import { killServers } from './servers/running-servers'

afterAll(killServers)

// Suites that remove their folder themselves do not know that its database is on a server.
if (process.env['TEST_DATABASE']) afterAll(async () => (await import('./databases/test-database')).endTestDatabases())

/** A shared machine may stand still for seconds; a test that hangs is still found. */
const PATIENCE_MS = 60_000

/**
 * Gives every test file its minute. Bun reads no `timeout` from bunfig.toml, and what a preload sets by `setDefaultTimeout`
 * holds for the first file of a process only (oven-sh/bun#43787), so each file sets it itself: in its first line, so that
 * the lines keep their numbers.
 */
plugin({
  name: 'patience',
  setup(build) {
    build.onLoad({ filter: /\.test\.tsx?$/ }, async ({ path }) => ({
      contents: `import { setDefaultTimeout as __patience } from 'bun:test';__patience(${PATIENCE_MS});${await Bun.file(path).text()}`,
      loader: path.endsWith('x') ? 'tsx' : 'ts',
    }))
  },
})
