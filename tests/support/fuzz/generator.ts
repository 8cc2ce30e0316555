import { type Attempt, single, type World } from './attempt'
import type { Operation } from './document'
import { framingAttempt, pipelineAttempt, slowAttempt, smugglingAttempt } from './framing-attempts'
import { HOSTILE_TEXT, inQuery } from './hostile'
import { credentialLines, operationAttempt } from './operation-attempts'
import type { Random } from './random'

/** Paths outside the document: pages, files, prefixes without a route, and paths that look like one. */
const OTHER_PATHS = [
  '/',
  '/index.html',
  '/favicon.svg',
  '/assets/index.js',
  '/docs',
  '/docs/json',
  '/openapi.json',
  '/llms.txt',
  '/vendor/scalar.js',
  '/media/lucide/credit-card.svg',
  '/media/lucide/../../package.json',
  '/media/lucide/..%2f..%2fpackage.json',
  '/media/lucide/%00.svg',
  '/media/lucide/',
  '/media',
  '/keys',
  '/keys/new',
  '/a.b',
  '/.env',
  '/.git/config',
  '/.well-known/oauth-protected-resource',
  '/server/main.ts',
  '/api',
  '/api/',
  '/api/nothing',
  '/api/auth',
  '/api/auth/',
  '/api/auth/ok',
  '/api/auth/error',
  '/api/auth/reset-password',
  '/api/auth/sign-in/social',
  '/api/auth/delete-user',
  '/api/auth/list-sessions',
  '/api/auth/revoke-sessions',
  '/api/auth/update-user',
  '/api/auth/change-password',
  '/api/auth/callback/github',
  '/apis',
  '/apis/v1',
  '/apis/v1/social/auth_social',
  '/apis/v2/websearch/images/search',
  '/v1',
  '/v1/models',
  '/v1/messages',
  '/v1/chat/completions',
  '/v1beta',
  '/v1beta/models/m:generateContent',
  '/mcp',
  '/mcp/paid',
  '/control.sock',
]
const METHODS = ['GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'CONNECT', 'PATCH']

/** Attempts without end: the same seed, document and world give the same ones. */
export function* attempts(random: Random, operations: readonly Operation[], world: World): Generator<Attempt, never> {
  const data = operations.filter(({ path }) => path.startsWith('/apis/'))
  yield* rareAttempts(world)
  for (;;) {
    const roll = random.next()
    if (roll < 0.4) yield operationAttempt(random, random.pick(data), world)
    else if (roll < 0.8) yield operationAttempt(random, random.pick(operations), world)
    else if (roll < 0.88) yield otherAttempt(random, world)
    else if (roll < 0.95) yield framingAttempt(random, world)
    else if (roll < 0.97) yield pipelineAttempt(random)
    else if (roll < 0.985) yield smugglingAttempt(random)
    else yield slowAttempt(random, world)
  }
}

/** The cases that chance reaches too rarely in a short run: a key that is created, a body that is too large, and a second call within the minute of a slow key. */
function rareAttempts({ goodKey, slowKey, ownerCookie }: World): Attempt[] {
  const json = 'Content-Type: application/json'
  const context = '/apis/v1/websearch/llm/context'
  return [
    single('POST /api/keys', {
      method: 'POST',
      target: '/api/keys',
      lines: [`Cookie: ${ownerCookie}`, json],
      body: '{"name":"made by the fuzz run"}',
    }),
    single(`POST ${context}`, {
      method: 'POST',
      target: context,
      lines: [`Authorization: Bearer ${goodKey}`, json],
      body: `{"q":"${'a'.repeat(1024 * 1024)}"}`,
    }),
    // Of three calls two are in the same minute, whenever the run begins.
    ...Array.from({ length: 3 }, () =>
      single(`GET ${context}`, {
        method: 'GET',
        target: `${context}?q=slow`,
        lines: [`Authorization: Bearer ${slowKey}`],
      }),
    ),
  ]
}

function otherAttempt(random: Random, world: World): Attempt {
  const path = random.pick(OTHER_PATHS)
  const hostile = inQuery(random, random.pick(HOSTILE_TEXT).slice(0, 600))
  const target = random.pick([path, path, `${path}?${hostile}`, `${path}/${hostile.replaceAll('?', '')}`])
  const method = random.pick(METHODS)
  const takes = path.startsWith('/api/') ? 'session' : 'key'
  const lines = random.chance(0.6) ? credentialLines(random, { path, takes }, world) : []
  const body = method === 'POST' || method === 'PUT' ? random.pick(['', '{}', 'x', '[1]']) : null
  if (body) lines.push(random.chance(0.7) ? 'Content-Type: application/json' : 'Content-Type: text/plain')
  return single(`other ${path}`, { method, target, lines, body })
}
