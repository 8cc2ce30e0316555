import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { VERSION } from '../../server/core/version'
import { endAndReconcile } from '../http/wire'
import { oauthApp } from '../support/agents/oauth'
import { type Harness, openHarness } from '../support/harness'
import { openCli } from './fake-terminal'

let gateway: Harness
let owner: Awaited<ReturnType<Harness['owner']>>
let app: ReturnType<typeof oauthApp>
beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  app = oauthApp(gateway, owner)
  gateway.images.answer = async () => ({
    ok: true,
    value: {
      body: '{"results":[{"title":"A \\u001b[31mcard","url":"https://a.example","properties":{"url":"https://a.example/1.png"}}]}',
    },
  })
})
afterAll(() => endAndReconcile(gateway))

/** The owner at a browser: reads the consent page, says yes or no, and is sent back to the command line. */
const person = (accept: boolean) => async (address: string) => {
  const { location } = await app.visit(new URL(address))
  const { body } = await app.decide(location!, accept)
  await fetch(String(body.url))
  return true
}

async function signedIn() {
  const cli = await openCli(gateway, { browser: person(true) })
  const { code, err } = await cli.run('login')
  expect(`${code} ${err}`).toStartWith('0 ')
  return cli
}

const sessionFile = (home: string) => join(home, 'gateway', 'session.json')

describe('login', () => {
  test('with a browser on this machine; the tokens are in a file that only its owner can read', async () => {
    await using cli = await signedIn()
    const file = sessionFile(cli.home)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(join(cli.home, 'gateway'))).mode & 0o777).toBe(0o700)
    const { code, out } = await cli.run('whoami', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ email: owner.email, credential: 'app', name: 'gateway-cli' })
    const stored = JSON.parse(await readFile(file, 'utf8')) as { accessToken: string; refreshToken: string }
    for (const words of [['whoami'], ['balance'], ['usage'], ['logout']]) {
      const said = await cli.run(...words)
      for (const token of [stored.accessToken, stored.refreshToken]) expect(said.out + said.err).not.toContain(token)
    }
  })

  test('that is denied exits with 1 and leaves nothing behind', async () => {
    await using cli = await openCli(gateway, { browser: person(false) })
    const { code, err } = await cli.run('login')
    expect([code, err]).toEqual([1, expect.stringContaining('not signed in')])
    expect(await stat(sessionFile(cli.home)).catch(() => null)).toBeNull()
  })

  test('--device shows a code, and waits for the owner to enter it elsewhere', async () => {
    await using cli = await openCli(gateway)
    const shown = Promise.withResolvers<string>()
    cli.watch((text) => {
      const code = /enter the code (\w{8})/.exec(text)?.[1]
      if (code) shown.resolve(code)
    })
    const done = cli.run('login', '--device')
    const code = await shown.promise
    await owner.api(`/api/auth/device?user_code=${code}`)
    expect((await owner.api('/api/auth/device/approve', { userCode: code })).status).toBe(200)
    expect((await done).code).toBe(0)
    expect((await cli.run('balance')).code).toBe(0)
  })

  test('to an unreachable gateway exits with 1', async () => {
    await using cli = await openCli(gateway)
    const away = { ...cli.terminal, fetch: async () => Promise.reject(new Error('connection refused')) }
    const { run } = await import('../../server/cli/run')
    const { COMMANDS } = await import('../../server/cli/commands')
    expect(await run(COMMANDS, ['login'], away)).toBe(1)
  })
})

describe('logout', () => {
  test('ends the access at the gateway, and deletes the tokens here', async () => {
    await using cli = await signedIn()
    const { accessToken } = JSON.parse(await readFile(sessionFile(cli.home), 'utf8')) as { accessToken: string }
    expect((await gateway.as(accessToken, '/v1/whoami')).status).toBe(200)
    expect((await cli.run('logout')).code).toBe(0)
    expect((await gateway.as(accessToken, '/v1/whoami')).status).toBe(401)
    const { code, err } = await cli.run('balance')
    expect([code, err]).toEqual([2, expect.stringContaining('gateway login')])
  })
})

describe('an access token', () => {
  test('that is about to expire is renewed before use', async () => {
    await using cli = await signedIn()
    const before = await readFile(sessionFile(cli.home), 'utf8')
    cli.advance(3_590_000)
    expect((await cli.run('balance')).code).toBe(0)
    expect(await readFile(sessionFile(cli.home), 'utf8')).not.toBe(before)
  })

  test('is renewed once by four concurrent commands: the lock lets one refresh, the others read its result', async () => {
    await using cli = await signedIn()
    cli.advance(3_590_000)
    cli.sent.length = 0
    const all = await Promise.all([1, 2, 3, 4].map(() => cli.run('balance')))
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0])
    const refreshes = cli.sent.filter(({ url }) => url.endsWith('/oauth2/token'))
    expect(refreshes).toHaveLength(1)
  })

  test('of an app that the owner disconnected is refused, with what to do', async () => {
    await using cli = await signedIn()
    const account = (await gateway.core.accounts.list(10, null))[0]!
    const actor = { kind: 'owner', id: account.userId, address: null } as const
    await gateway.core.appGrants.disconnect(account.userId, 'gateway-cli', actor)
    const { code, err } = await cli.run('balance')
    expect([code, err]).toEqual([1, expect.stringContaining('Run "bun run gateway login"')])
  })
})

describe('commands', () => {
  test('keys: create, show, limit, restrict, rotate, disable, enable, revoke; standard output is only the secret', async () => {
    await using cli = await signedIn()
    const made = await cli.run(
      'keys',
      'create',
      'laptop',
      '--limit',
      '5',
      '--ip',
      '203.0.113.7',
      '--set',
      'note=of Ada',
    )
    expect(made.code).toBe(0)
    expect(made.out).toMatch(/^gwk_[0-9A-Za-z]{49}\n$/)
    const key = async () =>
      (JSON.parse((await cli.run('keys', 'show', 'laptop', '--json')).out) as { key: Record<string, unknown> }).key
    expect(await key()).toMatchObject({
      spending_limit: 5,
      allowed_ips: ['203.0.113.7'],
      note: 'of Ada',
      status: 'active',
    })
    expect((await cli.run('keys', 'limit', 'laptop', 'none')).code).toBe(0)
    expect((await cli.run('keys', 'ips', 'laptop')).code).toBe(0)
    const set = await cli.run(
      'keys',
      'set',
      'laptop',
      'note=of Ada,\nand Grace = two',
      'rpm_limit=30',
      'allowed_models=["sandbox/echo"]',
    )
    expect(set.out).toMatch(/\nallowed_models +\["sandbox\/echo"\]\nrpm_limit +30\nnote +of Ada, and Grace = two\n/)
    expect((await cli.run('keys', 'show', 'laptop')).out).toContain('of Ada, and Grace = two')
    expect((await cli.run('keys', 'set', 'laptop', 'note=null', 'rpm_limit=null', 'allowed_models=[]')).code).toBe(0)
    expect(await key()).toMatchObject({ spending_limit: null, allowed_ips: [], note: null, rpm_limit: null })
    for (const wrong of [['laptop'], ['laptop', 'note'], ['laptop', '=of Ada']])
      expect((await cli.run('keys', 'set', ...wrong)).code).toBe(2)
    const refused = await cli.run('keys', 'set', 'laptop', 'rpm_limit=many', 'colour=red')
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('rpm_limit must be')])
    expect((await cli.run('keys', 'disable', 'laptop')).code).toBe(0)
    expect(await key()).toMatchObject({ status: 'disabled' })
    expect((await cli.run('keys', 'enable', 'laptop')).code).toBe(0)
    const id = String((await key())['id'])
    const rotated = await cli.run('keys', 'rotate', id, '--leaked')
    expect(rotated.out).toMatch(/^gwk_/)
    expect((await cli.run('keys', 'revoke', 'laptop')).code).toBe(0)
    const listed = await cli.run('keys', 'list')
    expect(listed.out).not.toContain(id)
    expect((await cli.run('keys', 'list', '--status', 'revoked')).out).toContain(id)
    await cli.run('keys', 'create', 'budgeted', '--budget', '50/month', '--budget', '0.5/day')
    const { key: budgeted } = JSON.parse((await cli.run('keys', 'show', 'budgeted', '--json')).out)
    expect(budgeted.budgets).toMatchObject([
      { limit_usd: 0.5, period: 'day' },
      { limit_usd: 50, period: 'month' },
    ])
    await cli.run('keys', 'create', 'tagged', '--tag', 'team a', '--tag', 'production')
    expect((await cli.run('keys', 'show', 'tagged')).out).toContain('["team a","production"]')
    expect((await cli.run('keys', 'list', '--tag', 'team a')).out).toContain('tagged')
    expect((await cli.run('keys', 'list', '--tag', 'team b')).out).toBe('No keys.\n')
  })

  test('keys: one that was replaced says until when it works, in the list and when the new one is revoked', async () => {
    await using cli = await signedIn()
    await cli.run('keys', 'create', 'rotated')
    const id = String(JSON.parse((await cli.run('keys', 'show', 'rotated', '--json')).out).key.id)
    const { key } = JSON.parse((await cli.run('keys', 'rotate', id, '--grace', '3600', '--json')).out)
    expect((await cli.run('keys', 'list')).out).toMatch(new RegExp(`${id} +rotated +active until 20\\S+Z `))
    const revoked = await cli.run('keys', 'revoke', key.id)
    expect(revoked.err).toContain('The key that it replaced is active until 20')
    expect(revoked.err).toContain(`keys revoke ${id}`)
    expect((await cli.run('keys', 'revoke', id)).err).toBe('')
  })

  test('search: words in, a table out; upstream text moves no cursor; the cost is shown', async () => {
    await using cli = await signedIn()
    const { code, out, err } = await cli.run(
      'search',
      'images',
      'credit',
      'card',
      '--count',
      '3',
      '--param',
      'safesearch=off',
    )
    expect(code).toBe(0)
    expect(gateway.images.asked.at(-1)).toMatchObject({ q: 'credit card', count: 3, safesearch: 'off' })
    expect(out).toContain('https://a.example/1.png')
    expect(out).not.toContain('\u001b')
    expect(err).toContain('Cost 0.005 USD')
    const quoted = await cli.run('search', 'images', 'card', '--quote', '--json')
    expect(JSON.parse(quoted.out)).toMatchObject({ quote: { cost_micros_usd: 5000 } })
  })

  test('usage: what was called and charged, and the explanation of one charge', async () => {
    await using cli = await signedIn()
    await cli.run('search', 'images', 'card')
    cli.advance(gateway.clock.now() - cli.terminal.now() + 60_000)
    const { out } = await cli.run('usage', '--days', '2')
    expect(out).toContain('total')
    const id = gateway.clock.now()
    expect((await cli.run('usage', `req_${id}`)).code).toBe(1)
  })

  test('a key in the environment is used instead of the sign-in', async () => {
    await using cli = await openCli(gateway)
    const made = (await (await owner.api('/api/keys', { name: `env ${crypto.randomUUID()}` })).json()) as {
      secret: string
    }
    cli.env['GATEWAY_API_KEY'] = made.secret
    const { out } = await cli.run('whoami', '--json')
    expect(JSON.parse(out)).toMatchObject({ credential: 'key', email: null })
    expect((await cli.run('keys', 'list')).code).toBe(1)
  })
})

describe('exit codes', () => {
  test('2: wrong usage, and nothing was sent', async () => {
    await using cli = await signedIn()
    cli.sent.length = 0
    const wrong = [
      ['nonsense'],
      ['login', 'extra'],
      ['keys'],
      ['keys', 'create'],
      ['keys', 'limit', 'a', 'lots'],
      ['keys', 'create', 'x', '--limit', '-1'],
      ['keys', 'create', 'x', '--budget', '5/year'],
      ['keys', 'create', 'x', '--expires', 'soon'],
      ['search', 'videos', 'x'],
      ['search', 'images'],
      ['search', 'images', 'x', '--param', 'nothing'],
      ['usage', '--days', '0'],
      ['usage', '--by', 'minute'],
      ['social', 'poke'],
      ['social', 'follow'],
      ['chat'],
      ['mcp', 'setup', 'nobody'],
      ['completion', 'tcsh'],
      ['topup', 'a lot'],
      ['topup', '1', '2'],
      ['balance', '--nonsense'],
      ['balance', '--url', 'ftp://x'],
      ['balance', '--url', 'http://gateway.example'],
    ]
    for (const words of wrong) expect([words, (await cli.run(...words)).code]).toEqual([words, 2])
    expect(cli.sent).toEqual([])
  })

  test('without GATEWAY_URL, the gateway of this machine is asked at PORT', async () => {
    await using cli = await openCli(gateway)
    cli.env['GATEWAY_API_KEY'] = (await gateway.key(await gateway.account(1))).secret
    delete cli.env['GATEWAY_URL']
    cli.env['PORT'] = '4321'
    await cli.run('balance')
    expect(new URL(cli.sent[0]?.url ?? '').origin).toBe('http://localhost:4321')
  })

  test('1: the gateway refused', async () => {
    await using cli = await signedIn()
    const { code, err } = await cli.run('search', 'images', 'x', '--count', '0')
    expect([code, err]).toEqual([1, expect.stringContaining('invalid_parameter')])
  })

  test('429s are retried after the wait, unless disabled', async () => {
    await using cli = await openCli(gateway)
    const poor = await gateway.account(0, { rpm: 1, tpm: 1000, concurrency: 1 })
    cli.env['GATEWAY_API_KEY'] = (await gateway.key(poor)).secret
    expect((await cli.run('balance')).code).toBe(0)
    expect((await cli.run('balance', '--no-retry')).code).toBe(1)
    expect(cli.slept).toEqual([])
    expect((await cli.run('balance')).code).toBe(1)
    expect(cli.slept).toHaveLength(5)
    expect(Math.max(...cli.slept)).toBeGreaterThan(29_000)
  })

  test('--version prints the version', async () => {
    await using cli = await openCli(gateway)
    expect(await cli.run('--version')).toMatchObject({ code: 0, out: `${VERSION}\n` })
  })

  test('help exits with 0 and needs no gateway', async () => {
    await using cli = await openCli(gateway)
    for (const words of [[], ['--help'], ['keys', '--help'], ['mcp', '-h']]) {
      const { code, out } = await cli.run(...words)
      expect([code, out.startsWith('Usage: bun run gateway')]).toEqual([0, true])
    }
    expect(cli.sent).toEqual([])
  })
})

describe('mcp setup', () => {
  const ADDRESS = () => `${gateway.config.baseUrl}/mcp`

  test('Claude Desktop: adds a local bridge next to its other servers; the old file is backed up', async () => {
    await using cli = await openCli(gateway)
    const folder = join(cli.home, 'settings', 'Claude')
    const file = join(folder, 'claude_desktop_config.json')
    cli.env['XDG_CONFIG_HOME'] = join(cli.home, 'settings')
    const before = '{"mcpServers":{"files":{"command":"files"}},"globalShortcut":"Ctrl+Space"}'
    await mkdir(folder, { recursive: true })
    await writeFile(file, before)
    expect((await cli.run('mcp', 'setup', 'claude-desktop')).code).toBe(0)
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
      mcpServers: { files: { command: 'files' }, gateway: { command: 'npx', args: ['-y', 'mcp-remote', ADDRESS()] } },
      globalShortcut: 'Ctrl+Space',
    })
    expect(await readFile(`${file}.bak`, 'utf8')).toBe(before)
    const { out } = await cli.run('mcp', 'setup', 'claude-desktop', '--key-env', 'KEY', '--print')
    expect(JSON.parse(out).mcpServers.gateway.args.slice(3)).toEqual(['--header', `Authorization:Bearer \${KEY}`])
    expect(await readFile(file, 'utf8')).not.toContain('KEY')
  })

  test('the backup of a file readable only by its owner is readable only by its owner', async () => {
    await using cli = await openCli(gateway)
    const file = join(cli.home, '.cursor', 'mcp.json')
    await mkdir(join(cli.home, '.cursor'))
    await writeFile(file, '{"mcpServers":{"other":{"headers":{"Authorization":"Bearer secret"}}}}', { mode: 0o600 })
    expect((await cli.run('mcp', 'setup', 'cursor')).code).toBe(0)
    const modes = await Promise.all([file, `${file}.bak`].map(async (path) => (await stat(path)).mode & 0o777))
    expect(modes).toEqual([0o600, 0o600])
  })

  test('Codex: a table of its TOML; comments, order and other tables are preserved, and its own is replaced', async () => {
    await using cli = await openCli(gateway)
    const file = join(cli.home, '.codex', 'config.toml')
    await mkdir(join(cli.home, '.codex'))
    const rest =
      '# mine\nmodel = "o9" # the good one\n\n[mcp_servers.files]\ncommand = "files"\nargs = ["[mcp_servers.gateway]"]\n'
    const old =
      '\n[mcp_servers.gateway]\nurl = "http://old.example"\n\n[mcp_servers.gateway.env]\nA = "b"\n\n[tui]\ntheme = "dark"\n'
    await writeFile(file, rest + old)
    expect((await cli.run('mcp', 'setup', 'codex', '--key-env', 'GATEWAY_API_KEY')).code).toBe(0)
    const text = await readFile(file, 'utf8')
    expect(text).toStartWith(rest)
    expect(Bun.TOML.parse(text)).toEqual({
      model: 'o9',
      mcp_servers: {
        files: { command: 'files', args: ['[mcp_servers.gateway]'] },
        gateway: { url: ADDRESS(), bearer_token_env_var: 'GATEWAY_API_KEY' },
      },
      tui: { theme: 'dark' },
    })
    expect(await readFile(`${file}.bak`, 'utf8')).toBe(rest + old)
    const again = await cli.run('mcp', 'setup', 'codex', '--key-env', 'GATEWAY_API_KEY', '--json')
    expect([JSON.parse(again.out).backup, await readFile(file, 'utf8')]).toEqual([null, text])
  })

  test.each([
    ['what is not TOML', 'model = '],
    ['tables in one line', 'mcp_servers = { files = { command = "files" } }\n'],
    ['a text of lines that look like tables', 'a = """\n[mcp_servers.gateway]\nkept\n"""\n'],
  ])('Codex: %s is left alone, and what to add is shown', async (_, before) => {
    await using cli = await openCli(gateway)
    const file = join(cli.home, 'elsewhere', 'config.toml')
    cli.env['CODEX_HOME'] = join(cli.home, 'elsewhere')
    await mkdir(join(cli.home, 'elsewhere'))
    await writeFile(file, before)
    const { code, err } = await cli.run('mcp', 'setup', 'codex')
    expect([code, err]).toEqual([1, expect.stringContaining('--print')])
    expect(await readFile(file, 'utf8')).toBe(before)
    expect((await cli.run('mcp', 'setup', 'codex', '--print')).out).toContain(`url = "${ADDRESS()}"`)
  })

  test('adds the server to an agent’s settings and preserves the rest; no key is ever written', async () => {
    await using cli = await openCli(gateway)
    const file = join(cli.home, '.cursor', 'mcp.json')
    expect((await cli.run('mcp', 'setup', 'cursor')).code).toBe(0)
    const settings = JSON.parse(await readFile(file, 'utf8'))
    settings.mcpServers.other = { url: 'https://other.example' }
    settings.theme = 'dark'
    await writeFile(file, JSON.stringify(settings))
    cli.env['GATEWAY_API_KEY'] = 'gwk_secret'
    expect((await cli.run('mcp', 'setup', 'cursor', '--key-env', 'GATEWAY_API_KEY')).code).toBe(0)
    const text = await readFile(file, 'utf8')
    expect(text).not.toContain('gwk_secret')
    expect(JSON.parse(text)).toEqual({
      mcpServers: {
        gateway: { url: `${gateway.config.baseUrl}/mcp`, headers: { Authorization: `Bearer \${env:GATEWAY_API_KEY}` } },
        other: { url: 'https://other.example' },
      },
      theme: 'dark',
    })
  })

  test('does not overwrite settings that it cannot read', async () => {
    await using cli = await openCli(gateway)
    const file = join(cli.home, '.gemini', 'settings.json')
    expect((await cli.run('mcp', 'setup', 'gemini')).code).toBe(0)
    await writeFile(file, '{ // a comment\n}')
    expect((await cli.run('mcp', 'setup', 'gemini')).code).toBe(1)
    expect(await readFile(file, 'utf8')).toContain('// a comment')
  })
})

test('completion knows every command', async () => {
  await using cli = await openCli(gateway)
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { out } = await cli.run('completion', shell)
    for (const word of ['login', 'keys', 'rotate', 'social', 'cursor']) expect(out).toContain(word)
  }
})
