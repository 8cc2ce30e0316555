import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chargedIds } from '../support/databases/database-file'
import { IS_LONG } from '../support/long'
import { reconcile } from '../support/reconcile'
import { serverBinary } from '../support/servers/server-binary'
import { type ServerProcess, SHORT_LIVED, startProgram } from '../support/servers/server-process'

/** With the binary alone, whose own folder is empty. */
const README = join(import.meta.dir, '../../README.md')
const ORIGIN = 'http://127.0.0.1:3000'

let folder: string
let program: string
const started: ServerProcess[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'whole-way-'))
  await mkdir(join(folder, 'empty'))
  program = await serverBinary()
}, 300_000)
afterAll(async () => {
  // Those that a failure left running.
  for (const server of started) await server.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

const place = (data: string) => ({
  cwd: join(folder, 'empty'),
  env: { ...SHORT_LIVED, DATA_DIR: join(folder, data), PORT: '0', DATABASE_SYNC: 'promised' },
})
async function start(data: string, env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const { cwd, env: own } = place(data)
  const server = await startProgram([program, 'up'], { cwd, env: { ...own, ...env } })
  started.push(server)
  return server
}

/** Runs a command of the binary. Resolves to what it printed; throws if it failed. */
async function run(data: string, ...args: readonly string[]): Promise<string> {
  const child = Bun.spawn([program, ...args], { ...place(data), stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(err + out)
  return out
}

/** The commands under a heading of the README, for a gateway elsewhere. */
async function readmeCommands(heading: string, url: string): Promise<string> {
  const readme = await readFile(README, 'utf8')
  const section = readme.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const blocks = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, commands = '']) => commands)
  return blocks.join('\n').replaceAll(ORIGIN, url)
}

test.skipIf(!IS_LONG)(
  'the binary: install, the first paid call by the README, backup, loss, restore elsewhere: the books agree all the way',
  async () => {
    const installed = await start('new')
    const { cwd, env } = place('new')
    const commands = (await readmeCommands('The first paid call', installed.url)).replace(
      /^bun run gateway wallet.*$/gm,
      '',
    )
    const typed = Bun.spawn(['sh', '-c', `${commands}\necho\necho "key $GATEWAY_API_KEY"`], {
      cwd,
      env: { ...env, PATH: '/usr/bin:/bin' },
      stderr: 'ignore',
    })
    const printed = await new Response(typed.stdout).text()
    expect([...printed.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code)).toEqual(['402', '200', '200', '402'])
    await rm(join(cwd, 'cookies.txt'))
    expect(await readdir(cwd)).toEqual([])
    const backup = await run('new', 'operator', 'backup', join(folder, 'copies'), '--verify')
    expect(backup).toContain('SECRET_KEY')
    expect(await installed.kill('SIGTERM')).toBe(0)
    expect(await run('new', 'doctor')).toContain('the books agree')
    const key = await readFile(join(folder, 'new/secret_key'), 'utf8')
    await rm(join(folder, 'new'), { recursive: true })

    expect(await run('elsewhere', 'operator', 'restore', join(folder, 'copies'))).toContain('its books agree')
    const restored = await start('elsewhere', { SECRET_KEY: key.trim() })
    const search = await fetch(`${restored.url}/apis/v1/websearch/images/search?q=credit%20card`, {
      headers: { authorization: `Bearer ${/^key (.+)$/m.exec(printed)?.[1]}` },
    })
    // The README's key has spent its limit.
    expect([search.status, (await search.json()).error.code]).toEqual([402, 'insufficient_api_key_balance'])
    expect(await restored.kill('SIGTERM')).toBe(0)
    const file = join(folder, 'elsewhere/gateway.db')
    expect([...(await chargedIds(file))]).toHaveLength(2)
    expect((await reconcile(file)).problems).toEqual([])
  },
  120_000,
)
