import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { buildah, buildImage, IMAGE, writeContext } from '../../tools/container'
import { IS_LONG } from '../support/long'
import { freePort } from '../support/servers/free-port'
import { serverBinary } from '../support/servers/server-binary'
import { signUp } from '../support/servers/server-process'
import { until } from '../support/until'

/** The user of the image, who has no rights. */
const USER = 65532
const OPS = join(import.meta.dir, '../../ops')
const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'
/** With the documents that the binary of tests lacks (8 MB) and a base image (24 MB) it must stay below 200 MB. */
const MAX_IMAGE_BYTES = 165_000_000

/** Runs `"$@"` as the user in the folder $ROOT as the root, read-only but for /data. */
const ISOLATED = `mount --bind "$ROOT" "$ROOT" && mount --bind "$ROOT/data" "$ROOT/data" && mount -t proc proc "$ROOT/proc" && mount --rbind /dev "$ROOT/dev" &&
mount -o remount,ro,bind "$ROOT" && exec chroot --userspec=${USER}:${USER} "$ROOT" "$@"`
const canIsolate =
  process.getuid?.() === 0 &&
  Bun.spawnSync(['unshare', '--mount', 'mount', '-o', 'remount,ro,bind', '/']).exitCode === 0
/** Where buildah is installed the root is that of the image; elsewhere it is put together of the same files. */
const hasBuildah = Bun.which('buildah') !== null

/** The root file system of ops/Dockerfile, with its base replaced by the libraries of this machine. */
async function imageRoot(folder: string): Promise<string> {
  const context = join(folder, 'context')
  await writeContext(context, await serverBinary())
  if (hasBuildah) {
    await buildImage(folder, context)
    return buildah(folder, 'mount', await buildah(folder, 'from', IMAGE))
  }
  const root = join(folder, 'root')
  for (const part of ['base', 'built', 'built/volume']) await cp(join(context, part), root, { recursive: true })
  await rm(join(root, 'volume'), { recursive: true })
  await cp(join(root, 'programs'), join(root, 'usr/local/bin'), { recursive: true })
  await rm(join(root, 'programs'), { recursive: true })
  await chown(join(root, 'data'), USER, USER)
  return root
}

describe.skipIf(!IS_LONG || !canIsolate)(
  'the single binary, as another user, on a read-only root that has nothing else but glibc: that of ops/Dockerfile',
  () => {
    let folder: string
    let root: string
    let files: readonly string[]
    let environment: Record<string, string>
    let url: string

    beforeAll(async () => {
      folder = await mkdtemp('/tmp/gateway-binary-')
      root = await imageRoot(folder)
      // As every runtime of containers does.
      for (const path of ['dev', 'proc']) await mkdir(join(root, path), { recursive: true })
      for (const path of [folder, root]) await chmod(path, 0o755)
      files = await readdir(root)
      const port = await freePort()
      url = `http://127.0.0.1:${port}`
      environment = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', ROOT: root, DATA_DIR: '/data', PORT: String(port) }
    }, 300_000)
    afterAll(() => rm(folder, { recursive: true, force: true }))

    function start(...args: string[]) {
      const isolated = ['unshare', '--mount', 'sh', '-c', ISOLATED, 'sh', '/gateway-server', ...args]
      return Bun.spawn(isolated, { cwd: root, env: environment, stdout: 'pipe', stderr: 'pipe' })
    }
    async function run(...args: string[]) {
      const child = start(...args)
      const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
      return { code: await child.exited, output: output + errors }
    }
    async function serve() {
      const child = start()
      const errors = new Response(child.stderr).text()
      let isUp = false
      void child.exited.then(async () => isUp || console.error(await errors))
      await until(
        async () => child.exitCode !== null || (await fetch(`${url}/ready`).catch(() => null))?.status === 200,
      )
      expect(child.exitCode).toBeNull()
      isUp = true
      return child
    }

    test('serves the dashboard, takes a paid call, imports an API, indexes a page, and keeps all of it over a restart', async () => {
      expect(await run('up', '--check')).toEqual({ code: 0, output: '' })
      const drafts = ['draft-old', 'draft-new'].map((name) => join(root, 'data/tmp', name))
      for (const draft of drafts) {
        await mkdir(draft)
        await chown(draft, USER, USER)
      }
      await utimes(String(drafts[0]), 0, 0)
      await writeFile(join(root, 'data/gateway.yaml'), 'LOG_LEVEL: info\n', { mode: 0o644 })
      expect((await run('config', 'check')).output).toContain('valid (environment and /data/gateway.yaml)')
      expect((await run('doctor', '--help')).output).toStartWith('Usage: gateway-server doctor ')
      let server = await serve()
      const dashboard = await fetch(url, { headers: { accept: 'text/html' } })
      expect(await dashboard.text()).toContain('<div id="root">')
      expect((await fetch(url + SEARCH)).status).toBe(402)
      expect(await (await fetch(`${url}/docs/guide/configuration`)).text()).toContain('<h2 id="backups">')
      const owner = await signUp(url, 'ada@example.com')
      const { secret } = await owner.api('/api/keys', { name: 'first', spending_limit: 1 })
      const authorization = { authorization: `Bearer ${secret}` }
      const paid = await fetch(url + SEARCH, { headers: authorization })
      expect({ status: paid.status, cost: paid.headers.get('x-cost-micros-usd') }).toEqual({
        status: 200,
        cost: '5000',
      })
      const model = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...authorization, 'content-type': 'application/json' },
        body: '{"model":"sandbox/echo","messages":[{"role":"user","content":"Hello"}]}',
      })
      expect(model.status).toBe(200)

      const document = {
        openapi: '3.1.0',
        info: { title: 'Weather', version: '1' },
        paths: { '/forecast': { get: { responses: { 200: { description: 'A forecast' } } } } },
      }
      await writeFile(join(root, 'weather.json'), JSON.stringify(document))
      const importing = ['api', 'import', '/weather.json', '--name', 'weather', '--base', 'https://api.example.com']
      const imported = await run('operator', ...importing, '--price', '0.01', '--dry-run')
      expect(imported.output).toContain('/forecast')
      await writeFile(
        join(root, 'page.html'),
        '<title>Quokkas</title><h1>Quokkas</h1><p>A quokka is a small wallaby.</p>',
      )
      const added = await run('index', 'add', '/page.html')
      expect({ code: added.code, output: added.output }).toMatchObject({ code: 0 })

      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
      server = await serve()
      const found = await fetch(`${url}/apis/v1/websearch/llm/context?q=quokka`, { headers: authorization })
      expect(await found.text()).toContain('wallaby')
      expect((await run('operator', 'ready')).code).toBe(0)
      const listed = await run('operator', 'list')
      expect(listed.output).toContain('ada@example.com')
      const copied = await run('operator', 'backup', '/data/copies', '--verify')
      expect(copied).toMatchObject({ code: 0, output: expect.stringContaining('/data/copies/gateway-') })
      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
      environment['DATA_DIR'] = '/data/restored'
      expect((await run('operator', 'restore', '/data/copies')).output).toContain('its books agree')
      expect((await run('doctor')).output).toContain('the books agree')
      environment['DATA_DIR'] = '/data'
      const unpacked = (await readdir(join(root, 'data', 'tmp'))).filter((name) => name.startsWith('gateway-files-'))
      expect(unpacked).toHaveLength(1)
      // Of a start that was killed, and of one that may go on.
      expect((await readdir(join(root, 'data/tmp'))).filter((name) => name.startsWith('draft-'))).toEqual(['draft-new'])
      expect((await readdir(root)).sort()).toEqual([...files, 'page.html', 'weather.json'].sort())
    }, 300_000)

    test.skipIf(!hasBuildah)(
      'the image of buildah (elsewhere: apt-get install buildah) is small, and has no rights and a health check',
      async () => {
        const { Docker: image } = JSON.parse(await buildah(folder, 'inspect', '--type', 'image', IMAGE))
        expect(image.config).toMatchObject({
          User: `${USER}:${USER}`,
          Entrypoint: ['/gateway-server'],
          Cmd: ['up'],
          Healthcheck: { Test: ['CMD', '/gateway-server', 'operator', 'ready'] },
          StopSignal: 'SIGTERM',
          Volumes: { '/data': {} },
        })
        const { stdout } = Bun.spawnSync(
          ['du', '--summarize', '--bytes', '--one-file-system', '--exclude=./data', '.'],
          {
            cwd: root,
          },
        )
        expect(Number.parseInt(stdout.toString(), 10)).toBeLessThan(MAX_IMAGE_BYTES)
      },
    )

    test('serves as ops/kubernetes starts it: probes, secrets in files, a volume of root for the group, and its end', async () => {
      const { spec } = parse(await readFile(join(OPS, 'kubernetes/stateful-set.yaml'), 'utf8')).spec.template
      const [container] = spec.containers
      const secret = parse(await readFile(join(OPS, 'kubernetes/secret.example.yaml'), 'utf8')).stringData
      const dockerfile = await readFile(join(OPS, 'Dockerfile'), 'utf8')
      const image =
        /^ENV (.*)$/m
          .exec(dockerfile)?.[1]
          ?.split(' ')
          .map((pair) => pair.split('=')) ?? []
      const own: [string, string][] = container.env.map(({ name, value }: Record<string, string>) => [name, value])
      const [settings, secrets] = container.volumeMounts
        .slice(1)
        .map(({ mountPath }: { mountPath: string }) => mountPath)
      for (const path of [settings, secrets]) await mkdir(join(root, path), { recursive: true })
      await cp(join(OPS, 'kubernetes/settings.yaml'), join(root, settings, 'gateway.yaml'))
      for (const [name, text] of Object.entries(secret)) {
        const path = join(root, secrets, name)
        await writeFile(path, String(text), { mode: spec.volumes[1].secret.defaultMode })
        await chown(path, 0, spec.securityContext.fsGroup)
      }
      await chown(join(root, 'data'), 0, spec.securityContext.fsGroup)
      await chmod(join(root, 'data'), 0o2775)
      const before = environment
      environment = { ...before, ...Object.fromEntries([...image, ...own]), PORT: before['PORT'] ?? '' }
      const server = await serve()
      const probe = async (name: string) => (await fetch(url + container[name].httpGet.path)).status
      expect([await probe('startupProbe'), await probe('livenessProbe'), await probe('readinessProbe')]).toEqual([
        200, 200, 200,
      ])
      expect(await run('operator', 'ready')).toMatchObject({ code: 0 })
      expect((await run('doctor')).output).toContain('ok    configuration')
      const owner = await signUp(url, 'ada@example.com')
      const { secret: key } = await owner.api('/api/keys', { name: 'first' })
      expect((await fetch(url + SEARCH, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200)
      server.kill('SIGTERM')
      await until(async () => (await probe('readinessProbe')) === 503)
      expect(await probe('livenessProbe')).toBe(200)
      server.kill('SIGTERM') // Skips the rest of the notice.
      expect(await server.exited).toBe(0)
      environment = before
      for (const path of ['data/gateway', settings, secrets]) await rm(join(root, path), { recursive: true })
      for (const path of ['etc', 'run']) await rm(join(root, path), { recursive: true })
      await chown(join(root, 'data'), USER, USER)
      await chmod(join(root, 'data'), 0o700)
    }, 120_000)

    test('says what is wrong with a command, and lists the commands', async () => {
      expect(await run('up', '--fast')).toMatchObject({
        code: 1,
        output: expect.stringContaining('unknown option --fast'),
      })
      const help = await run('--help')
      expect(help.output).toContain('gateway-server [up]')
      expect(help.output).toContain('operator')
    })
  },
)
