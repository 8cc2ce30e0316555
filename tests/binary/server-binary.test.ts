import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildServer } from '../../server/binary/build'
import { freePort } from '../support/served-gateway'
import { signUp } from '../support/server-process'
import { until } from '../support/until'

/** Issue 24 point 1. A user and a group without rights; Debian's `nobody`. */
const NOBODY = 65534
const isRoot = process.getuid?.() === 0
const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'

/** Runs `"$@"` as nobody, with every file system read-only but for the folder in $DATA_DIR. */
const READ_ONLY = `mount --bind "$DATA_DIR" "$DATA_DIR" && mount -o remount,ro,bind / &&
for at in /tmp /dev/shm; do ! mountpoint -q $at || mount -o remount,ro,bind $at; done
exec setpriv --reuid ${NOBODY} --regid ${NOBODY} --clear-groups "$@"`
const canIsolate = isRoot && Bun.spawnSync(['unshare', '--mount', 'mount', '-o', 'remount,ro,bind', '/']).exitCode === 0

describe.skipIf(!canIsolate)(
  'the single binary, from an empty folder, as another user, on a read-only file system',
  () => {
    let folder: string
    let program: string
    let environment: Record<string, string>
    let url: string

    beforeAll(async () => {
      folder = await mkdtemp('/tmp/gateway-binary-')
      program = join(folder, 'gateway-server')
      await buildServer(program, new Set(['drizzle-orm', 'elysia']))
      const data = join(folder, 'data')
      await mkdir(data, { mode: 0o700 })
      await chown(data, NOBODY, NOBODY)
      for (const path of [folder, program]) await chmod(path, 0o755)
      const port = await freePort()
      url = `http://127.0.0.1:${port}`
      environment = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', DATA_DIR: data, PORT: String(port), HOME: '/nonexistent' }
    }, 120_000)
    afterAll(() => rm(folder, { recursive: true, force: true }))

    function start(...args: string[]) {
      const isolated = ['unshare', '--mount', 'sh', '-c', READ_ONLY, 'sh', program, ...args]
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
      let server = await serve()
      const dashboard = await fetch(url, { headers: { accept: 'text/html' } })
      expect(await dashboard.text()).toContain('<div id="root">')
      expect((await fetch(url + SEARCH)).status).toBe(402)
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
      const importing = [
        'api',
        'import',
        join(folder, 'weather.json'),
        '--name',
        'weather',
        '--base',
        'https://api.example.com',
      ]
      const imported = await run('operator', ...importing, '--price', '0.01', '--dry-run')
      expect(imported.output).toContain('/forecast')
      await writeFile(
        join(folder, 'page.html'),
        '<title>Quokkas</title><h1>Quokkas</h1><p>A quokka is a small wallaby.</p>',
      )
      const added = await run('index', 'add', join(folder, 'page.html'))
      expect({ code: added.code, output: added.output }).toMatchObject({ code: 0 })

      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
      server = await serve()
      const found = await fetch(`${url}/apis/v1/websearch/llm/context?q=quokka`, { headers: authorization })
      expect(await found.text()).toContain('wallaby')
      const listed = await run('operator', 'list')
      expect(listed.output).toContain('ada@example.com')
      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
      const unpacked = (await readdir(join(folder, 'data', 'tmp'))).filter((name) => name.startsWith('gateway-files-'))
      expect(unpacked).toHaveLength(1)
      expect((await readdir(folder)).sort()).toEqual(['data', 'gateway-server', 'page.html', 'weather.json'])
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
