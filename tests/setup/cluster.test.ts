import { expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../server/listen'
import { ChildProcess } from '../../server/setup/child-process'
import { hasSqld } from '../support/databases/sqld'
import { addSmallIndex, COMPILED, control, dataFolder, removeFolder } from '../support/servers/server-process'
import { readUntil, until } from '../support/until'

const ROOT = join(import.meta.dir, '../..')

/** Issue 23: a try of many nodes on one machine. */
test.skipIf(!hasSqld)(
  'bun run cluster serves by two nodes with two cells and a balancer, and stops everything on Ctrl-C',
  async () => {
    const folder = await dataFolder({ migrated: false })
    for (const name of ['node-1', 'node-2']) {
      await mkdir(join(folder, 'cluster', name), { recursive: true, mode: 0o700 })
      await addSmallIndex(join(folder, 'cluster', name))
    }
    const port = portsInRow(5)
    const cluster = Bun.spawn([process.execPath, 'server/setup/cluster.ts', '--no-setup'], {
      cwd: ROOT,
      env: {
        PATH: process.env['PATH'] ?? '',
        ...{ DATA_DIR: folder, PORT: `${port}`, BUN_RUNTIME_TRANSPILER_CACHE_PATH: COMPILED },
      },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    let output = ''
    const pass = async (stream: ReadableStream<Uint8Array>) => {
      const decoder = new TextDecoder()
      for await (const bytes of stream) output += decoder.decode(bytes, { stream: true })
    }
    const read = Promise.all([pass(cluster.stdout), pass(cluster.stderr)])
    const isUp = () => output.includes('Ctrl-C stops everything.')
    await until(() => isUp() || cluster.exitCode !== null)
    expect(output).toContain('The cluster is up')
    const entrance = /Dashboard +(\S+)/.exec(output)?.[1] ?? ''
    expect(new URL(entrance).port).toBe(`${Bun.which('nginx') ? port : port + 1}`)
    for (const url of [entrance, `http://127.0.0.1:${port + 1}`, `http://127.0.0.1:${port + 2}`]) {
      const challenge = await fetch(`${url}/apis/v1/websearch/images/search?q=cards`)
      expect([url, challenge.status]).toEqual([url, 402])
    }
    const signIn = (url: string, origin: string) =>
      fetch(`${url}/api/auth/sign-in/email`, {
        method: 'POST',
        headers: { origin, 'content-type': 'application/json' },
        body: JSON.stringify({ email: 'nobody@example.com', password: 'correct horse battery' }),
      })
    const elsewhere = `http://127.0.0.1:${port + 2}`
    const refused = await signIn(elsewhere, elsewhere)
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining(`at ${entrance}, its BASE_URL`),
    ])
    expect((await signIn(entrance, entrance)).status).toBe(401)
    expect(output).toContain(`Dashboard       ${entrance}    (sign in at this address`)
    expect(output).toContain("curl -H 'Authorization: Bearer KEY' '")
    expect(output).toContain('sqld-2')
    const cells = await control(join(folder, 'cluster', 'node-1'), 'cells', {})
    expect(((await cells.json()) as { cells: { name: string }[] }).cells.map(({ name }) => name)).toEqual([
      'main',
      'c2',
    ])
    const pids = [...output.matchAll(/^ {2}\S+ +pid (\d+)/gm)].map(([, pid]) => Number(pid))
    cluster.kill('SIGINT')
    expect(await cluster.exited).toBe(0)
    await read
    expect(pids.length).toBeGreaterThanOrEqual(3)
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    await removeFolder(folder)
  },
)

test('bun run cluster refuses fewer cells than before, whose accounts nobody would own', async () => {
  const folder = await dataFolder({ migrated: false })
  for (const name of ['db', 'db-2', 'db-3']) await mkdir(join(folder, 'cluster', name), { recursive: true })
  const cluster = Bun.spawn([process.execPath, 'server/setup/cluster.ts', '--no-setup'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', DATA_DIR: folder, PORT: `${portsInRow(5)}` },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  expect(await new Response(cluster.stderr).text()).toContain('in 3 cells already: add --cells 3')
  expect(await cluster.exited).toBe(1)
  await removeFolder(folder)
})

test('what bun run cluster started is started again when it ends, until it is stopped', async () => {
  const lines: string[] = []
  const child = new ChildProcess('one', ['sh', '-c', 'echo up; exec sleep 60'], {
    cwd: ROOT,
    write: (line) => lines.push(line),
    restartMs: 1,
  })
  const { pid } = child
  child.keepRunning()
  await until(() => lines.includes('one | up'))
  process.kill(pid, 'SIGKILL')
  await until(() => child.pid !== pid && lines.filter((line) => line === 'one | up').length === 2)
  expect(lines).toContain('one | ended (SIGKILL); starts again')
  await child.stop()
  expect(() => process.kill(child.pid, 0)).toThrow('ESRCH')
  expect(child.hasEnded).toBe(true)
})

test('what bun run cluster started ends when that is killed, also what ignores SIGTERM', async () => {
  const source = `
    import { ChildProcess } from '${ROOT}/server/setup/child-process'
    for (const trap of ['', "trap '' TERM;"]) {
      const child = new ChildProcess('child', ['sh', '-c', trap + 'echo up; while :; do sleep 0.1; done'], {
        cwd: '/', endTenths: 3, write: () => console.log(child.pid),
      })
    }`
  const parent = Bun.spawn([process.execPath, '-e', source], { stdout: 'pipe', stderr: 'inherit' })
  const pids = (await readUntil(parent.stdout.getReader(), (text) => text.split('\n').length > 2)).trim().split('\n')
  // Who ended may wait for a new parent that asks for its exit code.
  const running = async () => {
    const states = await Bun.$`ps -o stat= -p ${pids.join()}`.nothrow().quiet().text()
    return states.split('\n').filter((state) => /^[^Z]/.test(state)).length
  }
  expect(await running()).toBe(2)
  parent.kill('SIGKILL')
  await until(async () => (await running()) === 0)
})

/** The first of so many free ports in a row. */
function portsInRow(count: number): number {
  for (let tries = 0; tries < 100; tries++) {
    const first = freePort('127.0.0.1')
    try {
      for (let i = 1; i < count; i++) freePort('127.0.0.1', first + i)
      return first
    } catch {
      // One of them is taken.
    }
  }
  throw new Error(`no ${count} free ports in a row`)
}
