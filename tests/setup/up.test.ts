import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bunVersionProblem } from '../../server/setup/bun-version.ts'
import { until } from '../support/until'

const SETUP = join(import.meta.dir, '../../server/setup')

let registry: Awaited<ReturnType<typeof startRegistry>>
beforeAll(async () => {
  registry = await startRegistry()
})
afterAll(() => registry.stop(true))

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'up-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

/**
 * A small checkout whose one dependency comes from a package registry of the test's own: only a package of a registry
 * can also be loaded from Bun's download cache, which is what must not happen.
 */
async function makeCheckout() {
  await cp(SETUP, join(root, 'server/setup'), { recursive: true })
  await writeFiles({
    'package.json': JSON.stringify({
      name: 'small',
      type: 'module',
      scripts: {
        up: 'bun server/setup/up.ts',
        build: `bun -e "require('fs').cpSync('dashboard/page.ts', 'dashboard/dist/index.html')"`,
      },
      dependencies: { dependency: '1.0.0' },
    }),
    'bunfig.toml': `[install]\nregistry = "${registry.url}"\ncache.dir = "download-cache"\n`,
    'tsconfig.json': '{}',
    'dashboard/page.ts': 'one',
    'server/core/rule.ts': 'one',
    'server/main.ts': `import dependency from 'dependency'
      console.log('served with ' + dependency + ' from ' + import.meta.resolve('dependency') + ' by ' + process.pid)`,
  })
  await bun(['install', '--lockfile-only'], root)
}

async function writeFiles(files: Record<string, string>) {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, path, '..'), { recursive: true })
    await writeFile(join(root, path), content)
  }
}

async function bun(args: string[], cwd: string) {
  const child = Bun.spawn([process.execPath, ...args], { cwd, stdout: 'ignore', stderr: 'pipe' })
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text())
}

/** A registry of one package, with a tarball made by Bun itself. */
async function startRegistry() {
  const folder = await mkdtemp(join(tmpdir(), 'up-registry-'))
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'dependency', version: '1.0.0', main: 'main.js' }),
  )
  await writeFile(join(folder, 'main.js'), 'module.exports = "the dependency"')
  await bun(['pm', 'pack', '--filename', join(folder, 'packed.tgz')], folder)
  const packed = await readFile(join(folder, 'packed.tgz'))
  await rm(folder, { recursive: true })
  const integrity = `sha512-${createHash('sha512').update(packed).digest('base64')}`
  return Bun.serve({
    port: 0,
    fetch({ url }) {
      if (url.endsWith('.tgz')) return new Response(packed)
      const dist = { tarball: `${new URL('/dependency/-/dependency-1.0.0.tgz', url)}`, integrity }
      const versions = { '1.0.0': { name: 'dependency', version: '1.0.0', dist } }
      return Response.json({ name: 'dependency', 'dist-tags': { latest: '1.0.0' }, versions })
    },
  })
}

async function up(args: string[] = [], environment: Record<string, string | undefined> = {}) {
  const child = Bun.spawn([process.execPath, join(root, 'server/setup/up.ts'), ...args], {
    cwd: tmpdir(),
    env: { ...process.env, DATA_DIR: undefined, SECRET_KEY: undefined, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { exitCode: await child.exited, stdout, stderr, pid: child.pid }
}

describe('up on a fresh checkout', () => {
  test('installs, creates the data folder, builds, and serves in its own process from the locked packages', async () => {
    await makeCheckout()
    const first = await up()
    expect(first.stderr).toMatch(
      /^Installing dependencies \.\.\. \d+\.\d s\nBuilding the dashboard \.\.\. \d+\.\d s\n$/,
    )
    expect(first.stdout).toContain('served with the dependency')
    // Not from Bun's download cache, which it turns to when there was no node_modules at its start.
    expect(first.stdout).toContain(`${root}/node_modules/dependency/main.js`)
    expect(first.stdout).toContain(`by ${first.pid}\n`)
    expect(first.exitCode).toBe(0)
    expect(await readdir(join(root, 'data'))).toEqual(['secret_key'])
    expect(first.stdout + first.stderr).not.toContain(await readFile(join(root, 'data/secret_key'), 'utf8'))
  })

  test('does nothing for what did not change, and only what is needed for what did', async () => {
    await makeCheckout()
    await up(['--check'])
    expect(await up(['--check'])).toMatchObject({ exitCode: 0, stdout: '', stderr: '' })

    // The rules are built into it too.
    for (const source of ['dashboard/page.ts', 'server/core/rule.ts']) {
      await writeFile(join(root, source), 'two')
      expect((await up(['--check'])).stderr).toMatch(/^Building the dashboard \.\.\. \d+\.\d s\n$/)
    }

    await rm(join(root, 'dashboard/dist'), { recursive: true })
    expect((await up(['--check'])).stderr).toStartWith('Building the dashboard')

    await rm(join(root, 'node_modules'), { recursive: true })
    expect((await up(['--check'])).stderr).toStartWith('Installing dependencies')
  })

  test.skipIf(process.platform === 'win32')(
    'sends a request while 300 others wait for an upstream that hangs',
    async () => {
      await makeCheckout()
      await writeFile(
        join(root, 'server/main.ts'),
        `let waiting = 0
      let all = () => {}
      const arrived = new Promise((resolve) => { all = resolve })
      const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch(request) {
        if (request.url.endsWith('/quick')) return new Response('answered')
        if (++waiting === 300) all()
        return new Promise(() => {})
      } })
      for (let i = 0; i < 300; i++) fetch(server.url).catch(() => {})
      await arrived
      console.log(await (await fetch(server.url + 'quick')).text())
      process.exit(0)`,
      )
      expect((await up()).stdout).toEndWith('answered\n')
    },
  )

  test('does not serve with --check, and uses DATA_DIR and SECRET_KEY', async () => {
    await makeCheckout()
    const run = await up(['--check'], { DATA_DIR: 'elsewhere', SECRET_KEY: 'from the environment' })
    expect(run).toMatchObject({ exitCode: 0, stdout: '' })
    expect(await readdir(join(root, 'elsewhere'))).toEqual([])
  })
})

describe('up started by npx', () => {
  /** A server that says when it runs and when it was asked to stop, and goes on until then. */
  const SERVER = `
    process.on('SIGTERM', () => { console.log('drained'); process.exit(0) })
    setInterval(() => {}, 1_000)
    console.log('serving')`

  test.skipIf(process.platform === 'win32')('stops when npx is stopped, although npx tells it nothing', async () => {
    await makeCheckout()
    await up(['--check'])
    await writeFile(join(root, 'server/main.ts'), SERVER)
    // As npx does it: a shell, which does not hand signals on, then `bun run`, then up. `; true` keeps it a shell.
    const command = `"${process.execPath}" run up; true`
    const npx = Bun.spawn(['bash', '-c', `exec -a 'npm exec bun@1.4.5 run up' sh -c '${command}'`], {
      cwd: root,
      env: { ...process.env, npm_config_user_agent: 'npm/11.19.1 node/v20.20.2 linux x64 workspaces/false' },
      stdout: 'pipe',
      stderr: 'ignore',
    })
    let said = ''
    for await (const chunk of npx.stdout.pipeThrough(new TextDecoderStream())) {
      said += chunk
      if (said === 'serving\n') npx.kill('SIGTERM')
    }
    expect(said).toBe('serving\ndrained\n')
  })
})

describe('up started by `bun run`', () => {
  const start = async () => {
    await makeCheckout()
    await up(['--check'])
    const file = join(root, 'said')
    const say = `(text) => require('fs').appendFileSync(${JSON.stringify(file)}, text + ' ' + process.pid + '\\n')`
    await writeFile(
      join(root, 'server/main.ts'),
      `const say = ${say}
      process.on('SIGTERM', () => { say('drained'); process.exit(0) })
      process.on('SIGHUP', () => say('reloaded'))
      setInterval(() => {}, 1_000)
      say('serving')`,
    )
    const wrapper = Bun.spawn([process.execPath, 'run', 'up'], { cwd: root, stdout: 'ignore', stderr: 'ignore' })
    const said = () => readFile(file, 'utf8').catch(() => '')
    await until(async () => (await said()).startsWith('serving'))
    return { wrapper, said }
  }

  test.skipIf(process.platform === 'win32')('stops in order when `bun run` is killed by SIGKILL', async () => {
    const { wrapper, said } = await start()
    wrapper.kill('SIGKILL')
    await until(async () => (await said()).includes('drained'))
    expect(await said()).toMatch(/^serving (\d+)\ndrained \1\n$/)
  })

  test.skipIf(process.platform === 'win32')('gets the SIGHUP and the SIGTERM of `bun run`', async () => {
    const { wrapper, said } = await start()
    wrapper.kill('SIGHUP')
    await until(async () => (await said()).includes('reloaded'))
    wrapper.kill('SIGTERM')
    await wrapper.exited
    await until(async () => (await said()).includes('drained'))
    expect(await said()).toMatch(/^serving (\d+)\nreloaded \1\ndrained \1\n$/)
  })
})

describe('up that cannot go on', () => {
  test('names the failed step in one line, then shows the tool’s own output, and exits 1', async () => {
    await makeCheckout()
    const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    manifest.scripts.build = `bun -e "console.error('no such page'); process.exit(7)"`
    await writeFile(join(root, 'package.json'), JSON.stringify(manifest))
    const run = await up()
    expect(run.exitCode).toBe(1)
    expect(run.stdout).toBe('')
    expect(run.stderr).toContain('failed\nerror: The dashboard could not be built.\n')
    expect(run.stderr).toContain('no such page')
    // It is tried again next time.
    expect((await up(['--check'])).exitCode).toBe(1)
  })

  test('refuses an unknown option', async () => {
    await cp(SETUP, join(root, 'server/setup'), { recursive: true })
    expect(await up(['--chekc'])).toMatchObject({
      exitCode: 1,
      stderr: 'error: Unknown option --chekc; see bun run up --help.\n',
    })
  })

  test.each(['1.4.4', '1.3.99', '0.9.0', undefined])(
    'refuses Bun %p with the command that installs a newer one',
    (version) => {
      expect(bunVersionProblem(version)).toContain('npx -y bun@1.4.5 run up')
    },
  )

  test.each(['1.4.5', '1.4.10', '1.5.0', '2.0.0', '1.5.0-canary.3'])('accepts Bun %p', (version) => {
    expect(bunVersionProblem(version)).toBeNull()
  })
})

describe('up --help', () => {
  test('says what it does and changes nothing', async () => {
    await cp(SETUP, join(root, 'server/setup'), { recursive: true })
    const run = await up(['--help'])
    expect(run).toMatchObject({ exitCode: 0, stderr: '' })
    expect(run.stdout).toContain('docs/configuration.md')
    expect(await readdir(root)).toEqual(['server'])
  })
})
