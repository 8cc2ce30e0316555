import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MadeKey } from '../support/harness'
import { type ModelGateway, openModelGateway, PRICE } from '../support/model-gateway'
import { reconcile } from '../support/reconcile'
import { freePort } from '../support/servers/free-port'
import { HOST, PROXIES, type ProxyProcess, startProxy } from '../support/servers/proxies'
import { readUntil, until } from '../support/until'
import { eventStream, openAi, openVendor, type VendorDouble } from '../support/vendor-double'

const CALLER = '127.0.0.9'
const IMAGES = '/apis/v1/websearch/images/search?q=cards'

test.skipIf(!Bun.which('haproxy'))('HAProxy accepts the shipped file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-haproxy-'))
  const file = await readFile(join(import.meta.dir, '../../ops/haproxy.cfg'), 'utf8')
  const path = join(folder, 'haproxy.cfg')
  await writeFile(path, file.replace(/ ssl crt \S+ alpn \S+/, ''))
  const { exitCode, stderr } = Bun.spawnSync(['haproxy', '-c', '-f', path])
  await rm(folder, { recursive: true, force: true })
  expect([exitCode, exitCode === 0 ? '' : stderr.toString()]).toEqual([0, ''])
})

for (const [name, start] of Object.entries(PROXIES))
  describe.skipIf(!Bun.which(name) || !Bun.which('openssl') || !Bun.which('curl'))(`behind ${name}`, () => {
    let folder: string
    let vendor: VendorDouble
    let gateway: ModelGateway
    let proxy: ProxyProcess
    let port: number
    let key: MadeKey

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), `gateway-${name}-`))
      vendor = openVendor(() => openAi.plain('Hello', { input: 1, output: 1 }))
      gateway = await openModelGateway(
        [{ id: 'open', upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` }, price: PRICE }],
        { TRUSTED_PROXIES: '127.0.0.1', BASE_URL: `https://${HOST}` },
      )
      key = (await gateway.funded(10, { allowed_ips: [CALLER] })).key
      const certificate = join(folder, 'certificate.pem')
      const secret = join(folder, 'key.pem')
      const made = Bun.spawnSync(
        ['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
          .concat(['-subj', `/CN=${HOST}`, '-addext', `subjectAltName=DNS:${HOST}`])
          .concat(['-keyout', secret, '-out', certificate]),
      )
      expect(made.exitCode).toBe(0)
      port = await freePort()
      const gatewayPort = new URL(gateway.serve()).port
      const place = { folder, gatewayPort, port, plainPort: await freePort(), tls: { certificate, key: secret } }
      proxy = startProxy(await start(place), folder)
      await until(async () => (await curl('/health')).status === 200)
    })
    afterAll(async () => {
      proxy?.kill()
      await proxy?.exited
      await gateway.close(true)
      expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
      await rm(gateway.folder, { recursive: true, force: true })
      vendor.close()
      await rm(folder, { recursive: true, force: true })
    })

    /** A call from an address of our choice; fetch cannot choose. */
    const spawnCurl = (path: string, from: string, ...more: string[]) =>
      Bun.spawn(
        ['curl', '-skN', '--resolve', `${HOST}:${port}:127.0.0.1`, '--interface', from]
          .concat(more)
          .concat(`https://${HOST}:${port}${path}`),
        { stdout: 'pipe', stderr: 'ignore' },
      )
    async function curl(path: string, from = CALLER, ...more: string[]) {
      const child = spawnCurl(path, from, '-w', '\n%{http_code}', ...more)
      const lines = (await new Response(child.stdout).text()).split('\n')
      return { status: Number(lines.pop()), body: lines.join('\n') }
    }
    const bearer = () => ['-H', `Authorization: Bearer ${key.secret}`]

    test('the allowlist of a key sees the address of the caller, whatever the caller claims', async () => {
      expect((await curl(IMAGES, CALLER, ...bearer())).status).toBe(200)
      const lies = [`X-Forwarded-For: ${CALLER}`, `Forwarded: for=${CALLER}`, `X-Real-IP: ${CALLER}`]
      for (const lie of lies) {
        const { status, body } = await curl(IMAGES, '127.0.0.8', ...bearer(), '-H', lie)
        expect({ lie, status, code: JSON.parse(body).error.code }).toEqual({ lie, status: 403, code: 'ip_not_allowed' })
        expect((await curl(IMAGES, CALLER, ...bearer(), '-H', lie.replace(CALLER, '127.0.0.8'))).status).toBe(200)
      }
    })

    test('each event of a stream arrives before the next one is sent', async () => {
      const seen = Promise.withResolvers<void>()
      vendor.answer = () =>
        eventStream([openAi.chunk({ role: 'assistant', content: 'first' })], async (controller) => {
          await seen.promise
          controller.enqueue(new TextEncoder().encode(openAi.total({ input: 1, output: 1 }) + openAi.done))
          controller.close()
        })
      const hello = '{"model":"open","stream":true,"messages":[{"role":"user","content":"Hello"}]}'
      const json = ['-H', 'content-type: application/json', '-d', hello]
      const child = spawnCurl('/v1/chat/completions', CALLER, ...bearer(), ...json)
      const reader = child.stdout.getReader()
      await readUntil(reader, (text) => text.includes('first'))
      seen.resolve()
      await readUntil(reader, (text) => text.includes('[DONE]'))
      expect(await child.exited).toBe(0)
    })

    test('a body that is too large gets the error of the gateway, not of the proxy', async () => {
      const file = join(folder, 'large.json')
      await writeFile(file, `{"model":"open","messages":[{"role":"user","content":"${'x'.repeat(32 * 1024 * 1024)}"}]}`)
      // Without its length: the gateway reads as much as it takes. Behind Caddy, who still uploads when it is refused may get no response.
      const upload = [
        '-H',
        'content-type: application/json',
        '-H',
        'transfer-encoding: chunked',
        '--data-binary',
        `@${file}`,
      ]
      const { status, body } = await curl('/v1/chat/completions', CALLER, ...bearer(), ...upload)
      expect({ status, code: JSON.parse(body).error.code }).toEqual({ status: 413, code: 'payload_too_large' })
    })

    test('the documents name the public origin, and a challenge its host', async () => {
      const described = JSON.parse((await curl('/.well-known/oauth-protected-resource/mcp')).body)
      expect(described.resource).toBe(`https://${HOST}/mcp`)
    })
  })
