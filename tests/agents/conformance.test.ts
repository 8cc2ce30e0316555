import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { oauthApp } from '../support/agents/oauth'
import { freePort } from '../support/servers/free-port'
import { openServedGateway } from '../support/servers/served-gateway'

const ROOT = join(import.meta.dir, '..', '..')
const BIN = join(ROOT, 'node_modules', '.bin')

let gateway: Awaited<ReturnType<typeof openServedGateway>>
/** Adds a key to every request: the suite knows none. Everything else goes on as it came, the host included. */
let withKey: ReturnType<typeof Bun.serve>
let secret: string
beforeAll(async () => {
  gateway = await openServedGateway()
  gateway.images.answer = async () => ({ ok: true, value: { body: '{"results":[]}' } })
  const key = await gateway.key(await gateway.account(10))
  secret = key.secret
  withKey = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const headers = new Headers(request.headers)
      headers.set('authorization', `Bearer ${secret}`)
      // A name that is not the proxy's own is what the suite tries to smuggle in.
      const host = headers.get('host') ?? ''
      const own = host.endsWith(`:${withKey.port}`)
      headers.set('host', own ? new URL(gateway.origin).host : host)
      if (headers.get('origin')?.endsWith(`:${withKey.port}`)) headers.set('origin', gateway.origin)
      const url = own ? `${gateway.origin}/mcp` : `http://${host}/mcp`
      return gateway.gateway.fetch(
        new Request(url, {
          method: request.method,
          headers,
          body: await request.arrayBuffer().then((body) => (body.byteLength > 0 ? body : null)),
          signal: request.signal,
        }),
      )
    },
  })
})
afterAll(async () => {
  await withKey.stop(true)
  await gateway.close()
})

async function ran(words: readonly string[], onOutput: (all: string) => void = () => undefined) {
  const child = Bun.spawn(['bun', '--bun', ...words], {
    cwd: gateway.folder,
    env: { ...process.env, BROWSER: 'true', NO_COLOR: '1' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let all = ''
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      all += decoder.decode(chunk, { stream: true })
      onOutput(all)
    }
  }
  await Promise.all([read(child.stdout), read(child.stderr)])
  return { code: await child.exited, output: all }
}

/** Checks by scenario that did not succeed. */
type Unmet = Record<string, readonly string[]>

async function unmetIn(folder: string): Promise<Unmet> {
  const unmet: Record<string, string[]> = {}
  for (const run of (await readdir(folder)).toSorted()) {
    const checks = (await Bun.file(join(folder, run, 'checks.json')).json()) as { id: string; status: string }[]
    const scenario = run.replace(/^server-|-\d{4}-\d\d-\d\dT.*$/g, '')
    const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING').map(({ id }) => id)
    if (failed.length > 0) unmet[scenario] = [...new Set([...(unmet[scenario] ?? []), ...failed])].toSorted()
  }
  return unmet
}

test.each([
  ['2025-11-25', '--spec-version'],
  // All that the version requires, not only what the suite runs by default.
  ['2026-07-28', '--requirements'],
])(
  'of the official server suite of %s just those checks fail that the baseline lists with a reason',
  async (version, scenarios) => {
    const results = await mkdtemp(join(tmpdir(), 'gateway-conformance-'))
    const url = `http://127.0.0.1:${withKey.port}/mcp`
    const { output } = await ran([join(BIN, 'conformance'), 'server', '--url', url, scenarios, version, '-o', results])
    const baseline = parse(await Bun.file(join(import.meta.dir, `conformance-${version}.yml`)).text()) as Unmet
    expect(await unmetIn(results), output.slice(-2000)).toEqual(baseline)
    await rm(results, { recursive: true })
  },
)

test('the official authorization suite passes, with a person at the consent page', async () => {
  const app = oauthApp(gateway, await gateway.owner())
  const port = await freePort()
  const { body } = await app.register({ redirect_uris: [`http://127.0.0.1:${port}/callback`] })
  let driven = false
  const { code, output } = await ran(
    [
      join(BIN, 'conformance'),
      'authorization',
      '--url',
      `${gateway.origin}/api/auth`,
      '--client-id',
      String(body['client_id']),
      '--resource',
      `${gateway.origin}/mcp`,
      '-p',
      String(port),
    ],
    (all) => {
      const address = /(http:\/\/[^\s"']+\/api\/auth\/oauth2\/authorize\?[^\s"']+)/.exec(all)?.[1]
      if (!address || driven) return
      driven = true
      void (async () => {
        const { location } = await app.visit(new URL(address))
        const answer = await app.decide(location!, true)
        await fetch(String(answer.body.url))
      })()
    },
  )
  expect(`${code}\n${output}`).toStartWith('0\n')
  expect(driven).toBe(true)
})

test('the inspector’s command line lists and calls tools with a key', async () => {
  const inspector = (method: string, ...more: string[]) =>
    ran([
      join(BIN, 'mcp-inspector'),
      '--cli',
      `${gateway.origin}/mcp`,
      '--transport',
      'http',
      '--header',
      `Authorization: Bearer ${secret}`,
      '--method',
      method,
      ...more,
    ])
  const listed = await inspector('tools/list')
  expect(listed.output).toContain('"image_search"')
  // A long tool, over a real socket.
  const research = ['--tool-arg', 'model=sandbox/extract', '--tool-arg', 'query=otters']
  const long = await inspector('tools/call', '--tool-name', 'deep_research', ...research)
  expect(long.output).toContain('"chat.completion"')
  expect(long.code).toBe(0)
})
