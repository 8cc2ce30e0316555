import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildServer } from '../../server/binary/build'
import { freePort } from '../support/served-gateway'
import { signUp } from '../support/server-process'
import { until } from '../support/until'

/** Issue 24 point 1. A user and a group without rights; Debian's `nobody`. */
const NOBODY = 65534
const ADDON = join(import.meta.dir, `../../node_modules/@libsql/linux-${process.arch}-gnu/index.node`)
const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'

/** Runs `"$@"` as nobody in the folder $ROOT as the root, read-only but for /data. */
const ISOLATED = `mount --bind "$ROOT" "$ROOT" && mount --bind "$ROOT/data" "$ROOT/data" && mount -t proc proc "$ROOT/proc" && mount --rbind /dev "$ROOT/dev" &&
mount -o remount,ro,bind "$ROOT" && exec chroot --userspec=${NOBODY}:${NOBODY} "$ROOT" "$@"`
const canIsolate =
  process.getuid?.() === 0 &&
  Bun.spawnSync(['unshare', '--mount', 'mount', '-o', 'remount,ro,bind', '/']).exitCode === 0

/** Copies the libraries that a program loads, as its image has them: glibc, libgcc and the loader. */
async function copyLibraries(root: string, program: string): Promise<void> {
  const { stdout } = Bun.spawnSync(['ldd', program])
  for (const [library] of stdout.toString().matchAll(/\/\S+(?= \()/g))
    await cp(library, join(root, library), { dereference: true })
}

describe.skipIf(!canIsolate)(
  'the single binary, as another user, on a read-only root that has nothing else but glibc, as in ops/Dockerfile',
  () => {
    let folder: string
    let program: string
    let files: readonly string[]
    let environment: Record<string, string>
    let url: string

    beforeAll(async () => {
      folder = await mkdtemp('/tmp/gateway-binary-')
      program = join(folder, 'gateway-server')
      await buildServer(program, new Set(['drizzle-orm', 'elysia']))
      for (const path of ['data', 'dev', 'proc']) await mkdir(join(folder, path), { mode: 0o700 })
      await chown(join(folder, 'data'), NOBODY, NOBODY)
      for (const path of [folder, program]) await chmod(path, 0o755)
      await copyLibraries(folder, program)
      await copyLibraries(folder, ADDON)
      files = await readdir(folder)
      const port = await freePort()
      url = `http://127.0.0.1:${port}`
      environment = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', ROOT: folder, DATA_DIR: '/data', PORT: String(port) }
    }, 120_000)
    afterAll(() => rm(folder, { recursive: true, force: true }))

    function start(...args: string[]) {
      const isolated = ['unshare', '--mount', 'sh', '-c', ISOLATED, 'sh', '/gateway-server', ...args]
      return Bun.spawn(isolated, { cwd: folder, env: environment, stdout: 'pipe', stderr: 'pipe' })
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
      await writeFile(join(folder, 'data/gateway.yaml'), 'LOG_LEVEL: info\n', { mode: 0o644 })
      expect((await run('config', 'check')).output).toContain('valid (environment and /data/gateway.yaml)')
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
      await writeFile(join(folder, 'weather.json'), JSON.stringify(document))
      const importing = ['api', 'import', '/weather.json', '--name', 'weather', '--base', 'https://api.example.com']
      const imported = await run('operator', ...importing, '--price', '0.01', '--dry-run')
      expect(imported.output).toContain('/forecast')
      await writeFile(
        join(folder, 'page.html'),
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
      const unpacked = (await readdir(join(folder, 'data', 'tmp'))).filter((name) => name.startsWith('gateway-files-'))
      expect(unpacked).toHaveLength(1)
      expect((await readdir(folder)).sort()).toEqual([...files, 'page.html', 'weather.json'].sort())
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
