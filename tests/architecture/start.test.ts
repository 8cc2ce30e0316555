import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')
const ts = new Bun.Transpiler({ loader: 'ts' })

/** The packages that a file loads at once, itself and by way of others; what is imported later is not among them. */
function loadedAtOnce(file: string): string[] {
  const packages = new Set<string>()
  const seen = new Set<string>()
  const visit = (path: string) => {
    if (seen.has(path)) return
    seen.add(path)
    for (const { path: target, kind } of ts.scanImports(readFileSync(path, 'utf8'))) {
      if (kind !== 'import-statement') continue
      const near = join(dirname(path), target)
      const found = [near, `${near}.ts`].find((one) => one.endsWith('.ts') && existsSync(one))
      if (target.startsWith('.') && found) visit(found)
      else if (!target.startsWith('.') && !target.startsWith('node:')) packages.add(packageOf(target))
    }
  }
  visit(join(ROOT, file))
  return [...packages].sort()
}

function packageOf(specifier: string): string {
  return /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier
}

// Libraries for pages, PDFs, languages, tokens, payments, mail and agents: tens of megabytes each, for work that a server may never do.
test('the server starts with the libraries that every request needs, and loads the others when they are first needed', () => {
  expect(loadedAtOnce('server/main.ts')).toEqual([
    '@better-auth/oauth-provider',
    '@better-auth/passkey',
    '@elysiajs/swagger',
    '@libsql/client',
    // Elysia loads it anyway.
    '@sinclair/typebox',
    'better-auth',
    'drizzle-orm',
    'elysia',
    'robots-parser',
    'stemmer',
  ])
})
