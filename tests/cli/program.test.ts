import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { programName } from '../../server/cli/program'

const ROOT = join(import.meta.dir, '../..')
const HELPS = ['--help', 'keys --help', 'operator', 'operator customer --help']
const LOCAL = ['config', 'doctor --help', 'index', 'wallet']

async function firstLine(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { stdout: 'pipe', stderr: 'inherit' })
  const text = await new Response(child.stdout).text()
  expect(text.replaceAll(/^Usage: .*$/gm, '')).not.toMatch(/"gateway [a-z]/)
  return text.slice(0, text.indexOf('\n'))
}

test('the name of the single binary is that of its file; a checkout has a script', () => {
  expect(programName('/$bunfs/root/gateway-server', '/usr/local/bin/gateway-server')).toBe('gateway-server')
  expect(programName('/srv/gateway/server/cli/main.ts', '/usr/bin/bun')).toBe('bun run gateway')
})

describe('help says how the command line was called', () => {
  const folders: string[] = []
  afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))))

  const command = (words: string) => (words === '--help' ? 'COMMAND' : words.replace(/( customer)? --help/, ''))

  test.each([...HELPS, ...LOCAL])('in a checkout: %s', async (words) => {
    const line = await firstLine([process.execPath, join(ROOT, 'server/cli/main.ts'), ...words.split(' ')])
    expect(line).toStartWith(`Usage: bun run gateway ${command(words)}`)
  })

  test('in a single binary', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'program-'))
    folders.push(folder)
    const binary = join(folder, 'another-name')
    const build = [process.execPath, 'build', '--compile', join(ROOT, 'server/cli/binary.ts'), '--outfile', binary]
    expect(await Bun.spawn(build, { stdout: 'ignore' }).exited).toBe(0)
    for (const words of HELPS) {
      const line = await firstLine([binary, ...words.split(' ')])
      expect(line).toStartWith(`Usage: another-name ${command(words)}`)
    }
  }, 60_000)
})
