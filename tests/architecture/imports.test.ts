import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findCycles, readEdges, readSources } from './import-graph'
import { RULES } from './import-rules'
import { breaches } from './import-verdict'

const root = join(import.meta.dir, '../..')

test('no file of the tests reaches itself', () => {
  const sources = readSources(root, ['tests'])
  expect(sources.size).toBeGreaterThan(500)
  expect(findCycles(readEdges(sources))).toEqual([])
})

test('every import of server, dashboard and tools is allowed by the table of import-rules.ts', () => {
  const sources = readSources(root, ['server', 'dashboard/src', 'tools'])
  expect(sources.size).toBeGreaterThan(10)
  expect(breaches(sources, RULES, (path) => existsSync(join(root, path)))).toEqual([])
})

/** Breaches of made-up files; targets that the test does not write exist and are empty. */
function judged(files: Record<string, string>, empty: readonly string[] = []): string[] {
  return breaches(new Map([...empty.map((path): [string, string] => [path, '']), ...Object.entries(files)]), RULES)
}

describe('the checker catches', () => {
  test.each([
    ['core with a package', 'server/core/money.ts', `import { Elysia } from 'elysia'`],
    ['core with a package, for its type', 'server/core/ledger/hold.ts', `import type { Elysia } from 'elysia'`],
    ['core with a built-in other than crypto', 'server/core/ids.ts', `import { readFileSync } from 'node:fs'`],
    ['core re-exporting a package', 'server/core/ids.ts', `export { eq } from 'drizzle-orm'`],
    ['core re-exporting all of a package', 'server/core/ids.ts', `export * from 'drizzle-orm/libsql'`],
    ['core re-exporting a type', 'server/core/ids.ts', `export type { SQL } from 'drizzle-orm'`],
    ['core re-exporting all types', 'server/core/ids.ts', `export type * from 'drizzle-orm'`],
    ['an inline type', 'server/core/ids.ts', `import { type SQL } from 'drizzle-orm'`],
    [
      'an import over several lines',
      'server/core/ids.ts',
      `import {\n  type SQL,\n  type Table,\n} from 'drizzle-orm'`,
    ],
    ['an import for its effect', 'server/core/ids.ts', `import 'elysia'`],
    ['a dynamic import', 'server/core/ids.ts', `export const load = async () => await import('elysia')`],
    ['a type taken by import()', 'server/core/ids.ts', `export type App = import('elysia').Elysia`],
    ['require', 'server/core/ids.ts', `export const load = () => require('elysia')`],
    ['a computed import', 'server/core/ids.ts', 'export const load = (name: string) => import(name)'],
    [
      'a package of a driver in the gateway',
      'server/pipeline/paid-call.ts',
      `import { createClient } from '@libsql/client'`,
    ],
    ['a package in memory stores', 'server/adapters/stores/memory/holds.ts', `import { eq } from 'drizzle-orm'`],
    ['set-up with a package', 'server/setup/up.ts', `import { eq } from 'drizzle-orm'`],
    ['a forbidden folder that is not there yet', 'server/core/ids.ts', `import { x } from '../http/not-there'`],
    ['a folder without a row', 'server/helpers/strings.ts', `import { createHash } from 'node:crypto'`],
    ['a file without a row', 'server/stray.ts', `import { createHash } from 'node:crypto'`],
    ['the server in a page', 'dashboard/src/pages/keys.tsx', `import { Elysia } from 'elysia'`],
  ])('%s', (_what, file, source) => {
    const found = judged({ [file]: source })
    expect(found).toHaveLength(1)
    expect(found[0]).toStartWith(`${file}: `)
  })

  test.each([
    ['core reaching out', 'server/core/ledger/ledger.ts', '../../pipeline/paid-call', 'server/pipeline/paid-call.ts'],
    [
      'one concern importing another',
      'server/core/ledger/ledger.ts',
      '../limits/window',
      'server/core/limits/window.ts',
    ],
    ['a base file importing a concern', 'server/core/money.ts', './ledger/hold', 'server/core/ledger/hold.ts'],
    [
      'the gateway importing an adapter',
      'server/pipeline/paid-call.ts',
      '../adapters/stores/memory/holds',
      'server/adapters/stores/memory/holds.ts',
    ],
    [
      'a route importing an adapter',
      'server/http/keys/routes.ts',
      '../../adapters/stores/libsql/client',
      'server/adapters/stores/libsql/client.ts',
    ],
    ['a route importing a route', 'server/http/keys/routes.ts', '../usage/routes', 'server/http/usage/routes.ts'],
    [
      'a part of every route importing a route',
      'server/http/middleware/response/reply.ts',
      '../../usage/routes',
      'server/http/usage/routes.ts',
    ],
    [
      'an adapter importing another kind',
      'server/adapters/websearch/local/search.ts',
      '../../stores/libsql/client',
      'server/adapters/stores/libsql/client.ts',
    ],
    [
      'one store importing another',
      'server/adapters/stores/memory/holds.ts',
      '../libsql/client',
      'server/adapters/stores/libsql/client.ts',
    ],
    [
      'identity importing tables of others',
      'server/adapters/identity/identity.ts',
      '../stores/libsql/schema/keys',
      'server/adapters/stores/libsql/schema/keys.ts',
    ],
    [
      'an adapter importing http',
      'server/adapters/identity/identity.ts',
      '../../http/middleware/caller/owner-session',
      'server/http/middleware/caller/owner-session.ts',
    ],
    ['a job importing compose', 'server/jobs/prune.ts', '../compose', 'server/compose.ts'],
    [
      'app importing an adapter',
      'server/app.ts',
      './adapters/identity/identity',
      'server/adapters/identity/identity.ts',
    ],
    ['a command importing compose', 'server/cli/commands/keys.ts', '../../compose', 'server/compose.ts'],
    ['set-up importing the config', 'server/setup/up.ts', '../config', 'server/config.ts'],
    [
      'a feature importing a feature',
      'dashboard/src/features/keys/list.tsx',
      '../usage/chart',
      'dashboard/src/features/usage/chart.tsx',
    ],
    ['ui importing the api', 'dashboard/src/ui/table.tsx', '../api/client', 'dashboard/src/api/client.ts'],
    ['a page importing the core', 'dashboard/src/pages/keys.tsx', '../../../server/core/money', 'server/core/money.ts'],
  ])('%s, by value and by type', (_what, file, specifier, target) => {
    for (const source of [`import { a } from '${specifier}'\na()`, `import type { A } from '${specifier}'`]) {
      const found = judged({ [file]: source }, [target])
      expect(found).toHaveLength(1)
      expect(found[0]).toStartWith(`${file}: `)
      expect(found[0]).toContain(`'${specifier}' = ${target}`)
      expect(found[0]).toContain('may import')
    }
  })

  test.each([
    [
      'gateway values in an adapter',
      'server/adapters/stores/memory/holds.ts',
      '../../../pipeline/call',
      'server/pipeline/call.ts',
    ],
    [
      'a provider in the gateway',
      'server/pipeline/call-upstream.ts',
      '../core/providers/provider',
      'server/core/providers/provider.ts',
    ],
    [
      'a usage event in the ledger',
      'server/core/ledger/ledger.ts',
      '../usage/call-record',
      'server/core/usage/call-record.ts',
    ],
    ['the config in compose', 'server/compose.ts', './config', 'server/config.ts'],
    ['the app in the dashboard', 'dashboard/src/api/client.ts', '../../../server/app', 'server/app.ts'],
    ['the app in the command line', 'server/cli/api.ts', '../app', 'server/app.ts'],
  ])('%s by value, and allows its types', (_what, file, specifier, target) => {
    expect(judged({ [file]: `import { a } from '${specifier}'\na()` }, [target])).toHaveLength(1)
    expect(judged({ [file]: `import { type A, a } from '${specifier}'\na()` }, [target])).toHaveLength(1)
    expect(judged({ [file]: `import type { A } from '${specifier}'` }, [target])).toEqual([])
    expect(judged({ [file]: `import { type A, type B } from '${specifier}'` }, [target])).toEqual([])
  })

  test('a worker that another folder owns', () => {
    const start = `export const start = () => new Worker(new URL('../adapters/stores/libsql/writer.ts', import.meta.url))`
    expect(judged({ 'server/pipeline/paid-call.ts': start }, ['server/adapters/stores/libsql/writer.ts'])).toHaveLength(
      1,
    )
    const own = `export const start = () => new Worker(new URL('./writer.ts', import.meta.url))`
    expect(
      judged({ 'server/adapters/stores/libsql/client.ts': own }, ['server/adapters/stores/libsql/writer.ts']),
    ).toEqual([])
  })

  test('a cycle, of values and of types, also a long one', () => {
    const two = judged({
      'server/core/ledger/hold.ts': `import { b } from './entry'\nexport const a = b`,
      'server/core/ledger/entry.ts': `import type { A } from './hold'\nexport const b = 1`,
    })
    expect(two).toHaveLength(1)
    expect(two[0]).toContain('server/core/ledger/hold.ts -> server/core/ledger/entry.ts -> server/core/ledger/hold.ts')
    const three = judged({
      'server/core/ledger/a.ts': `import type { B } from './b'`,
      'server/core/ledger/b.ts': `import type { C } from './c'`,
      'server/core/ledger/c.ts': `import type { B } from './b'`,
    })
    expect(three).toEqual([
      'server/core/ledger/b.ts: server/core/ledger/b.ts -> server/core/ledger/c.ts -> server/core/ledger/b.ts: a cycle; nothing may reach itself',
    ])
  })

  test.each([
    'process.env.HOME',
    `process.env['HOME']`,
    'process?.env',
    `process['env']`,
    'Bun.env.HOME',
    '(() => { const { env } = process; return env })()',
  ])('%s outside config, set-up and command line', (read) => {
    const source = `export const home = ${read}`
    expect(judged({ 'server/adapters/identity/identity.ts': source })).toHaveLength(1)
    expect(judged({ 'dashboard/src/pages/keys.tsx': source })).toHaveLength(1)
    for (const file of ['server/config.ts', 'server/setup/up.ts', 'server/cli/main.ts'])
      expect(judged({ [file]: source })).toEqual([])
  })
})

describe('the checker allows', () => {
  test('what only looks like an import', () => {
    const source = [
      `// import { Elysia } from 'elysia'`,
      `/** import { Elysia } from 'elysia'; process.env is read by config.ts */`,
      ` * import('elysia')`.replace(' * ', '// '),
      `export const text = "import { Elysia } from 'elysia'"`,
      `export const from = 'elysia'`,
    ].join('\n')
    expect(judged({ 'server/core/ids.ts': source })).toEqual([])
  })

  test('a concern its own files, the base files and node:crypto', () => {
    const source = `import { createHash } from 'node:crypto'\nimport type { Money } from '../money'\nimport { b } from './entry'\ncreateHash(b)`
    expect(
      judged({ 'server/core/ledger/hold.ts': source }, ['server/core/money.ts', 'server/core/ledger/entry.ts']),
    ).toEqual([])
  })

  test('a feature its own files', () => {
    const source = `import { list } from './list'\nimport { Button } from '../../ui/button'\nlist(Button)`
    expect(
      judged({ 'dashboard/src/features/keys/page.tsx': source }, [
        'dashboard/src/features/keys/list.tsx',
        'dashboard/src/ui/button.tsx',
      ]),
    ).toEqual([])
  })

  test('main to start the parts, compose to choose adapters', () => {
    const main = `import { compose } from './compose'\nimport { readConfig } from './config'\ncompose(readConfig())`
    const compose = `import { openIdentity } from './adapters/identity/identity'\nimport type { Config } from './config'\nopenIdentity()`
    const targets = ['server/app.ts', 'server/config.ts', 'server/adapters/identity/identity.ts']
    expect(judged({ 'server/main.ts': main, 'server/compose.ts': compose }, targets)).toEqual([])
  })
})
